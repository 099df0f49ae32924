#include "settings.hpp"

#include <algorithm>

#include <mgpu/ad/environment.hpp>
#include <mgpu/config/check_all.hpp>

#include "evaluate.hpp"

namespace mgpu::recipes {

ad::WindowRules AdSettings::window_rules(const ad::HistoryShape& histories) const {
  return ad::make_window_rules(model.tokens, static_cast<int>(model.n_transit), histories);
}

AdSettings read_ad_settings(const Config& config) {
  AdSettings settings;
  check_all({[&] { settings.data = ad::read_data_config(config); },
             [&] { settings.model = ad::read_ad_transformer_config(config); },
             [&] { settings.loop = read_loop_settings(config); },
             [&] { settings.evaluate = read_evaluate_config(config); }});
  for (int episode = 1; episode <= settings.evaluate.episodes; ++episode)
    settings.loop.evaluation_values.push_back(return_name(episode));
  settings.label_smoothing = config.number("train.label_smoothing");
  settings.loop.train.batch.fills_gpu = true;  // few large passes, because the models are small
  settings.model.compute = settings.loop.optimizer.mixed_precision;
  const auto environment = ad::make_environment(settings.data.env, settings.data.env_split_seed);
  settings.model.grid = std::max(environment->shape().width, environment->shape().height);
  settings.model.num_actions = environment->num_actions();
  return settings;
}

}  // namespace mgpu::recipes
