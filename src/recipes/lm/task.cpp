#include "task.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/lm/weights/companion_files.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "reference.hpp"

namespace mgpu::recipes {

namespace {

/// Loads the weights of a folder: rank 0 reads them, and the other ranks receive them.
/// Ranks:  collective over `world`.
void load_folder(const cluster::Group& world, const std::filesystem::path& folder,
                 lm::TrainableModel& model) {
  at::Tensor weights;  // copy on the host; for a model on the CPU, the model's tensor
  cluster::run_together(world, [&] {
    if (world.rank() == 0) model.load(formats::WeightFiles(folder));
    weights = tensor::read_back(model.parameters().weights());
  });
  world.broadcast(
      std::span(weights.mutable_data_ptr<float>(), static_cast<std::size_t>(weights.numel())), 0);
  if (weights.data_ptr() == model.parameters().weights().data_ptr()) return;
  cluster::run_together(world, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor(model.parameters().weights()).copy_(weights);
  });
}

}  // namespace

lm::LmWindows windows_of(const LmTrainSettings& settings, const LmMethod& method,
                         lm::LmExamples examples) {
  return {std::move(examples), settings.seq_len, settings.loop.seed, method.completion_room()};
}

lm::TrainingOptions options_of(const LmTrainSettings& settings, const LmMethod& method,
                               const lm::LmConfig& config) {
  lm::TrainingOptions options = settings.options;
  options.head = method.head(config);
  return options;
}

LmTask::LmTask(run::RunContext& run, const LmTaskParts& parts, lm::LmConfig config, LmData data)
    : run_(run),
      settings_(parts.settings),
      method_(parts.method),
      open_(parts.open),
      windows_(windows_of(settings_, method_, std::move(data.training))),
      held_out_(std::move(data.evaluation), settings_.seq_len, settings_.loop.seed),
      items_(open_.make_items(windows_)),
      model_(config, run.device, settings_.loop.seed, options_of(settings_, method_, config)),
      objective_(model_, *items_, open_.loss(), run.clock),
      data_crc_(lm::crc_of(windows_.examples()) ^ data.method.crc),
      reference_crc_(method_.reference_folder().empty() ? data.folder_crc : data.method.crc),
      chat_template_(std::move(data.chat_template)) {}

TrainTask::DataPlace LmTask::data_place() const {
  if (const auto place = method_.data_place()) return *place;
  if (settings_.rows->generated) return {"the data set", "examples", settings_.rows->source()};
  return {"the file of `data.path`", "examples", settings_.rows->path.string()};
}

std::map<std::string, std::string> LmTask::model_files() const {
  if (run_.topology.world().rank() != 0) return {};
  lm::CompanionFiles files = method_.model_files(settings_.folder);
  lm::set_stored_head(model_.config(), files);
  if (!chat_template_.empty()) files["chat_template.jinja"] = chat_template_;
  return files;
}

std::span<const double> LmTask::step_values() const {
  const std::span<const double> digest = objective_.digest();
  return digest.first(std::min(digest.size(), settings_.loop.step_values.size()));
}

bool LmTask::add_reference() {
  cluster::run_together(run_.topology.world(), [&] { open_.begin(model_); });
  if (!method_.needs_reference()) return true;
  const auto measuring = run_.clock.enter("reference");
  std::optional<lm::TrainableModel> other;
  const auto open = [&]() -> const lm::TrainableModel& {
    if (method_.reference_folder().empty()) return model_;
    return open_reference(other);
  };
  const auto log_probs = reference_log_probs(run_, open, {windows_, held_out_, reference_crc_});
  if (!log_probs) return false;
  const auto held_out = log_probs->begin() + std::ssize(windows_.examples().ends);
  cluster::run_together(run_.topology.world(), [&] {
    windows_.set_sequence_column(kReferenceColumn, {log_probs->begin(), held_out});
    held_out_.set_sequence_column(kReferenceColumn, {held_out, log_probs->end()});
  });
  return true;
}

TrainTask::Evaluation LmTask::evaluate(std::int64_t step) {
  const auto evaluating = run_.clock.enter("evaluation");
  const lm::HeldOutItems items(held_out_);
  const lm::MeanLoss mean = lm::mean_loss(run_.topology.world(), model_, items, method_.loss());
  run_.log.event({"eval", {{"step", step}, {"loss", mean.loss}, {"accuracy", mean.accuracy}}});
  run_.scalars.scalar("eval/loss", step, mean.loss);
  run_.scalars.scalar("eval/accuracy", step, mean.accuracy);
  Evaluation evaluation{{{"loss", mean.loss}, {"accuracy", mean.accuracy}}, std::nullopt};
  for (std::size_t i = 0; i < settings_.loop.step_values.size(); ++i) {
    const ReportedValue& value = settings_.loop.step_values[i];
    run_.scalars.scalar("eval/" + value.scalar, step, mean.digest.at(i));
    evaluation.values[value.name] = mean.digest[i];
  }
  return evaluation;
}

const lm::TrainableModel& LmTask::open_reference(std::optional<lm::TrainableModel>& other) const {
  const cluster::Group& world = run_.topology.world();
  const std::filesystem::path folder = method_.reference_folder();
  lm::LmConfig config = lm::read_shared_lm_config(world, folder);
  cluster::run_together(world, [&] {
    other.emplace(std::move(config), run_.device, settings_.loop.seed, settings_.options);
  });
  load_folder(world, folder, *other);
  return *other;
}

void LmTask::load_weights() {
  if (!settings_.is_fresh) load_folder(run_.topology.world(), settings_.folder, model_);
}

}  // namespace mgpu::recipes
