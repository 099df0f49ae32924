#include "task.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::recipes {

lm::LmWindows windows_of(const LmTrainSettings& settings, lm::LmExamples examples) {
  return {std::move(examples), settings.seq_len, settings.loop.seed,
          settings.distill ? settings.distill->completion_room() : 0};
}

LmTask::LmTask(run::RunContext& run, const LmTrainSettings& settings, lm::LmConfig config,
               LmData data, const LmTeacher* teacher)
    : run_(run),
      settings_(settings),
      windows_(windows_of(settings, std::move(data.training))),
      held_out_(std::move(data.evaluation), settings.seq_len, settings.loop.seed),
      items_(windows_, teacher == nullptr ? lm::WindowSources{} : teacher->sources()),
      model_(std::move(config), run.device, settings.loop.seed, settings.options),
      objective_(model_, items_, teacher == nullptr ? cross_entropy_ : teacher->loss(), run.clock),
      teacher_crc_(data.teacher_crc),
      chat_template_(std::move(data.chat_template)) {}

std::uint32_t LmTask::data_crc() const {
  return lm::crc_of(windows_.examples()) ^ teacher_crc_;
}

TrainTask::DataPlace LmTask::data_place() const {
  if (settings_.distill && !settings_.distill->targets.empty())
    return {"the file of `distill.targets`", "targets", settings_.distill->targets.string()};
  if (settings_.distill)
    return {"`distill.model` or the data", "weights or examples",
            settings_.distill->model.string()};
  if (settings_.rows->generated) return {"the data set", "examples", settings_.rows->source()};
  return {"the file of `data.path`", "examples", settings_.rows->path.string()};
}

std::map<std::string, std::string> LmTask::model_files() const {
  if (run_.topology.world().rank() != 0) return {};
  std::map<std::string, std::string> files = lm::companion_files(settings_.folder);
  if (!chat_template_.empty()) files["chat_template.jinja"] = chat_template_;
  return files;
}

TrainTask::Evaluation LmTask::evaluate(std::int64_t step) {
  const double loss = held_out_loss();
  run_.log.event({"eval", {{"step", step}, {"loss", loss}}});
  run_.scalars.scalar("eval/loss", step, loss);
  return {{{"loss", loss}}, std::nullopt};
}

void LmTask::load_weights() {
  if (settings_.is_fresh) return;
  const cluster::Group& world = run_.topology.world();
  at::Tensor weights;  // on the host; on the CPU the model's tensor itself
  cluster::run_together(world, [&] {
    if (world.rank() == 0) model_.load(formats::WeightFiles(settings_.folder));
    weights = model_.parameters().weights().cpu();
  });
  world.broadcast(
      std::span(weights.mutable_data_ptr<float>(), static_cast<std::size_t>(weights.numel())), 0);
  if (weights.data_ptr() == model_.parameters().weights().data_ptr()) return;
  cluster::run_together(world, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor(model_.parameters().weights()).copy_(weights);
  });
}

/// Mean over the learned tokens, in nats. Each window is summed alone and in a fixed order, so that
/// the number of ranks does not change the result. Collective.
double LmTask::held_out_loss() const {
  const auto evaluating = run_.clock.enter("evaluation");
  const cluster::Group& world = run_.topology.world();
  std::vector<double> losses(held_out_.size(), 0.0);
  cluster::run_together(world, [&] {
    for (std::size_t w = static_cast<std::size_t>(world.rank()); w < losses.size();
         w += static_cast<std::size_t>(world.size())) {
      lm::LmBatch batch;
      held_out_.append(w, batch);
      losses[w] = model_.loss(batch).loss;
    }
  });
  world.all_reduce(std::span(losses));
  double sum = 0.0;
  std::int64_t predictions = 0;
  for (std::size_t w = 0; w < losses.size(); ++w) {
    sum += losses[w];
    predictions += held_out_.predictions(w);
  }
  return sum / static_cast<double>(predictions);
}

}  // namespace mgpu::recipes
