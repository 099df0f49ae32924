#include "sampled_policy.hpp"

#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::recipes {
namespace {

/// Returns `settings` with `stop_ids`, the tokens that end a completion.
GrpoSettings with_stops(GrpoSettings settings, std::vector<std::int64_t> stop_ids) {
  settings.sampling.stop_ids = std::move(stop_ids);
  return settings;
}

}  // namespace

SampledPolicy::SampledPolicy(const run::RunContext& run, const GrpoSettings& settings, LmData& data,
                             const std::filesystem::path& folder)
    : settings_(with_stops(settings, std::move(data.stop_ids))),
      loss_(settings_),
      clock_(run.clock),
      rank_(run.topology.world().rank()),
      state_(settings_) {
  const cluster::Group& world = run.topology.world();
  const auto files = rows::read_shared_tokenizer_files(world, folder, {});
  lm::ResidentModels* models = run.models;
  if (settings_.rewards.has_model() && models == nullptr) {
    own_models_ = std::make_unique<lm::ResidentModels>(run.topology.node());
    models = own_models_.get();
  }
  settings_.rewards.warn = [&log = run.log](const std::string& text) {
    log.event({"warn", {{"text", text}}});
  };
  cluster::run_together(world, [&] {
    if (files) folder_ = text::parse_text_folder(*files, folder);
    rewards_.emplace(rows::open_rewards(settings_.rewards, run.device, models));
    rewards_->start();
    rewards_->check_started();
  });
}

/// Returns the text of a completion without special tokens; "" without a tokenizer.
std::string SampledPolicy::decoded(std::span<const std::int64_t> ids) const {
  if (!folder_) return "";
  return folder_->tokenizer.decode(std::vector<text::TokenId>(ids.begin(), ids.end()), true);
}

std::unique_ptr<lm::LmItems> SampledPolicy::make_items(const lm::LmWindows& windows) {
  auto items = std::make_unique<RolloutItems>(
      settings_, RolloutTools{windows.examples(), *rewards_,
                              [this](std::span<const std::int64_t> ids) { return decoded(ids); },
                              clock_, rank_});
  items_ = items.get();
  return items;
}

void SampledPolicy::begin(const lm::TrainableModel& start) {
  if (settings_.beta == 0.0) return;
  start_ = std::make_unique<lm::TrainableModel>(start.frozen_copy());
  items_->set_start(*start_);
}

void SampledPolicy::before_save(const cluster::Group& world) {
  items_->save(world, state_);
}

void SampledPolicy::after_load() {
  items_->restore(state_);
}

}  // namespace mgpu::recipes
