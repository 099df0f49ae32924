#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::recipes {

std::int64_t LoopSettings::planned_evaluations() const {
  if (evaluation_values.empty()) return 0;
  const std::int64_t steps = optimizer.schedule.max_steps;
  const std::int64_t regular = train.eval_every == 0 ? 0 : steps / train.eval_every;
  const bool last_is_regular = train.eval_every > 0 && steps % train.eval_every == 0;
  return regular + (evaluates_last_step && !last_is_regular ? 1 : 0);
}

bool LoopSettings::evaluates_after(std::int64_t steps_done) const {
  if (evaluation_values.empty()) return false;
  if (evaluates_last_step && steps_done == optimizer.schedule.max_steps) return true;
  return train.eval_every > 0 && steps_done % train.eval_every == 0;
}

LoopSettings read_loop_settings(const Config& config) {
  LoopSettings settings{run::read_job_keys(config), {}, {}, {}};
  check_all({[&] { settings.train = train::read_train_config(config); },
             [&] { settings.optimizer = train::read_optimizer_config(config); },
             [&] { settings.checkpoint = store::read_checkpoint_config(config); }});
  settings.memory_every = config.integer("log.memory_every");
  return settings;
}

}  // namespace mgpu::recipes
