#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/model_rows.hpp>

#include "data.hpp"
#include "page.hpp"
#include "page_texts.hpp"
#include "recipe.hpp"
#include "recipes/required_file.hpp"
#include "results.hpp"
#include "task.hpp"

namespace mgpu::recipes {
namespace {

/// Returns a text such as "3 rows cannot be used and are left out, the first: data.jsonl:3: it is
/// an empty line".
std::string left_out_text(const LeftOut& left_out) {
  const bool is_one = left_out.rows == 1;
  return report::grouped(left_out.rows) +
         (is_one ? " row cannot be used and is left out: "
                 : " rows cannot be used and are left out, the first: ") +
         left_out.first;
}

/// Returns a description of the examples for the banner.
std::string data_text(const LmTrainSettings& settings, const LmTask& task) {
  const lm::LmWindows& windows = task.windows();
  const std::string examples =
      report::grouped(static_cast<std::int64_t>(windows.examples().size()));
  const std::string tokens = report::counted(std::ssize(windows.examples().ids), "token");
  if (task.method().has_prompts_only()) return examples + " prompts, " + tokens;
  return examples + " examples, " + tokens + " in " +
         report::grouped(static_cast<std::int64_t>(windows.size())) +
         report::text_of(" sequences of %lld, %.1f %% full",
                         static_cast<long long>(settings.seq_len), 100.0 * windows.fill());
}

void print_banner(run::RunContext& run, const LmTrainSettings& settings, const LmTask& task,
                  const Trainer& trainer) {
  const lm::LmConfig& config = task.model().config();
  report::BannerFacts facts = batch_facts(run, settings.loop, trainer);
  facts.data = data_text(settings, task) + "; " + config.family + " of " +
               report::counted(trainer.num_parameters(), "parameter");
  facts.data += task.method().banner();
  run.print_banner(facts);
  log_schedule(run, settings.loop, trainer);
}

/// Logs `of_model` (a note about the model), the notes of the method, and a warning for each file
/// with rows that cannot be used.
void log_notes(run::RunContext& run, const std::string& of_model, const LmData& data) {
  for (const std::string& note : {of_model, data.method.note})
    if (!note.empty()) run.log.event({"note", {{"text", note}}});
  for (const std::string& note : data.notes)
    run.log.event({"note", {{"text", note}}});
  for (const LeftOut& left_out : data.left_out)
    run.log.event({"warn", {{"text", left_out_text(left_out)}}});
}

void add_rows_left_out(const std::vector<LeftOut>& left_out, run::JobOutcome& outcome) {
  std::int64_t rows = 0;
  for (const LeftOut& of_file : left_out)
    rows += of_file.rows;
  if (rows == 0) return;
  outcome.results.push_back(
      {"bad_rows", "rows that could not be used", static_cast<double>(rows), "", 0});
}

/// Returns the data of the page without curves and texts, which the caller adds. `steps` is the
/// number of finished steps.
LmPlots plots_of(const LmTask& task, const LmTrainSettings& settings, const ResultNames& names,
                 std::int64_t steps) {
  const lm::LmWindows& windows = task.windows();
  LmPlots plots;
  plots.meaning = task.method().loss_meaning();
  plots.vocab = task.model().config().vocab;
  plots.held_out = names.held_out;
  plots.accuracy = names.accuracy;
  plots.goal = task.method().goal();
  if (!task.method().has_prompts_only()) {
    plots.fill = windows.fill();
    plots.mean_tokens = windows.fill() * static_cast<double>(settings.seq_len);
  }
  plots.epochs = static_cast<double>(steps * settings.loop.train.batch.global_batch) /
                 static_cast<double>(task.epoch_size());
  return plots;
}

/// Checks that the size of the global batch is a multiple of `group_size`.
void require_whole_groups(const Config& config, std::int64_t group_size) {
  const std::int64_t batch = train::read_train_config(config).batch.global_batch;
  if (batch % group_size == 0) return;
  throw config.problem(
      "E107", "train.global_batch_size",
      "`train.global_batch_size` " + std::to_string(batch) + " is not a multiple of " +
          std::to_string(group_size) + ", the number of examples that belong together",
      "train.global_batch_size=" + std::to_string((batch / group_size + 1) * group_size));
}

}  // namespace

void check_lm_keys(const Config& config, int ranks, const LmMethod& method) {
  check_all({[&] { read_lm_train_settings(config, method); },
             [&] { train::check_batch(config, ranks); },
             [&] { refuse_keys_of_other_recipes(config, recipe_of(config)); },
             [&] { require_whole_groups(config, method.items_together()); }});
}

void LmRecipe::check_weights() const {
  if (!settings_.is_fresh) rows::check_model_folder(config_, settings_.folder);
  method_->check_weights(config_);
}

void LmRecipe::check_files() const {
  const Config& config = config_;
  const LmTrainSettings& settings = settings_;
  rows::check_model_config(config, settings.folder,
                           settings.is_fresh ? "model.init" : "model.path");
  const bool is_generated = settings.rows && settings.rows->generated;
  if (settings.needs_tokenizer)
    require_tokenizer(config, settings.is_fresh ? "model.init" : "model.path", settings.folder);
  rows::check_chat_template(config, settings.folder, settings.chat);
  if (settings.rows && !is_generated) require_file(config, "data.path", settings.rows->path);
  if (settings.eval_rows && !settings.eval_rows->generated)
    require_file(config, "data.eval_path", settings.eval_rows->path);
  method_->check_files(config, settings.folder);
  if (!settings.is_fresh) method_->check_start(config, settings.folder);
  require_positions(config, lm::read_lm_config(settings.folder, settings.weights()), "model");
  const std::filesystem::path reference = method_->reference_folder();
  if (!reference.empty())
    require_positions(config, lm::read_lm_config(reference, lm::FolderWeights::ignored),
                      "reference");
}

std::vector<run::FileCheck> LmRecipe::file_checks() const {
  const LmTrainSettings& settings = settings_;
  const std::string what = settings.rows ? settings.rows->source() : method_->source();
  return {{what, [&settings, &method = *method_](const cluster::Group& world) {
             const lm::LmConfig model =
                 lm::read_shared_lm_config(world, settings.folder, settings.weights());
             const LmData data = load_lm_data(world, settings, method, model.vocab);
             const lm::LmWindows windows = windows_of(settings, method, data.training);
             std::string text = report::grouped(static_cast<std::int64_t>(data.training.size()));
             text += method.has_prompts_only()
                         ? " prompts"
                         : " examples in " +
                               report::grouped(static_cast<std::int64_t>(windows.size())) +
                               " sequences";
             for (const LeftOut& left_out : data.left_out)
               text += "; " + left_out_text(left_out);
             for (const std::string& note : data.notes)
               text += "; " + note;
             return text;
           }}};
}

run::JobOutcome LmRecipe::run(run::RunContext& run) const {
  const cluster::Group& world = run.topology.world();
  const LmTrainSettings& settings = settings_;
  lm::LmConfig config = lm::read_shared_lm_config(world, settings.folder, settings.weights());
  LmData data;
  {
    const auto reading = run.clock.enter("tokenize");
    data = load_lm_data(world, settings, *method_, config.vocab);
  }
  // The task below allocates memory, which may fail on some ranks only. It is made in
  // run_together(), which throws on all ranks if it fails on any rank.
  log_notes(run, lm::head_note(settings.folder, config), data);
  const std::vector<LeftOut> left_out = data.left_out;
  const std::uint32_t folder_crc = data.folder_crc;
  std::unique_ptr<OpenMethod> open;
  std::optional<LmTask> task;
  std::optional<Trainer> trainer;
  {
    const auto building = run.clock.enter("start-up");
    open = method_->open(run, data);
    const bool samples = method_->costs().sampled > 0.0;
    cluster::run_together(world, [&] {
      // If a model samples completions, it packs its weights in each step. Packing returns the kept
      // memory to the system, so keep_step_memory() would be useless.
      if (!samples) keep_step_memory(run);
      const LmTaskParts parts{settings, *method_, *open};
      task.emplace(run, parts, std::move(config), std::move(data));
      trainer.emplace(run, settings.loop, *task);
    });
    task->load_weights();
  }
  print_banner(run, settings, *task, *trainer);
  if (!task->add_reference()) return trainer->outcome(ExitCode::stopped);
  const std::vector<SampleText> before = texts_before(world, *task, settings);
  trainer->restore();
  if (!trainer->train()) return trainer->outcome(ExitCode::stopped);
  const auto sealing = run.clock.enter("results");
  store::seal(world, lm_results({run.config, run.store, run.directory}, trainer->curves(),
                                trainer->state().steps_done, method_->loss_meaning().unit,
                                trainer->curves().step_values()));
  run::JobOutcome outcome = trainer->outcome(ExitCode::done);
  outcome.phase_notes = {{"checkpoints", std::to_string(trainer->saves()) + " saved"}};
  const bool has_split = settings.eval_rows && settings.eval_rows->generated;
  const char* held_out = has_split ? "split validation" : "data.eval_path";
  if (method_->held_out_share() > 0.0) held_out = "held-out questions";
  const ResultNames names{held_out, method_->accuracy(), method_->loss_meaning().unit};
  LmPlots plots = plots_of(*task, settings, names, outcome.done);
  add_samples(world, *task, settings, before, plots);
  add_training_results(trainer->curves(), names, trainer->curves().step_values(), std::move(plots),
                       outcome);
  outcome.inputs.push_back(settings.is_fresh
                               ? std::pair<std::string, std::string>{"model", "random weights"}
                               : rows::model_checksum(folder_crc));
  add_rows_left_out(left_out, outcome);
  return outcome;
}

RecipeSpec language_model_recipe() {
  return {.name = "",
          .summary = "a language model",
          .chosen_by = "model.path=FOLDER or model.init=FOLDER",
          .keys = {rows::add_model_folder_keys, input::add_input_keys, datasets::add_dataset_keys,
                   rows::add_chat_template_key, add_lm_train_keys},
          .is_chosen = trains_language_model,
          .check = [](const Config& config, int ranks) { check_lm_keys(config, ranks); },
          .read = [](const Config& config) -> std::unique_ptr<Recipe> {
            return std::make_unique<LmRecipe>(config);
          }};
}

run::MergedRun LmRecipe::merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& /*journal*/) const {
  const LmTrainSettings& settings = settings_;
  const LoopSettings& loop = settings.loop;
  std::optional<lm::TrainableModel> model;
  const lm::LmConfig config = lm::read_shared_lm_config(world, settings.folder, settings.weights());
  cluster::run_together(world, [&] {
    model.emplace(config, Device{}, loop.seed, options_of(settings, *method_, config));
  });
  train::Adamw optimizer(model->parameters(), loop.optimizer.adamw);
  train::LossScaler scaler(loop.optimizer.mixed_precision == tensor::ComputeKind::f16);
  TrainCurves curves(loop.optimizer.schedule.max_steps, loop.planned_evaluations(),
                     loop.evaluation_values, loop.splits_loss, loop.step_values);
  TrainState state(model->parameters(), optimizer, scaler, curves, method_->kept_tensors());
  run::MergedRun merged = merged_training(world, place, loop, state);
  store::SealRequest request = lm_results(place, curves, state.steps_done,
                                          method_->loss_meaning().unit, curves.step_values());
  request.partial = true;
  store::seal(world, request);
  return merged;
}

}  // namespace mgpu::recipes
