#include "train_lm.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <ATen/core/grad_mode.h>

#include <mgpu/algorithms/lm_objective.hpp>
#include <mgpu/base/check_together.hpp>
#include <mgpu/base/config_problem.hpp>
#include <mgpu/jobs/lm_data.hpp>
#include <mgpu/jobs/train_results.hpp>
#include <mgpu/language/model_folder.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/report/train_report.hpp>
#include <mgpu/store/small_table.hpp>

#include "lm_teacher.hpp"
#include "trainer.hpp"

namespace mgpu::jobs {
namespace {

algorithms::LmWindows windows_of(const LmTrainSettings& settings, algorithms::LmExamples examples) {
  return {std::move(examples), settings.seq_len, settings.seed,
          settings.distill ? settings.distill->completion_room() : 0};
}

/// Model, packed data and held-out loss, built in the order in which they depend on each other.
class LmRecipe final : public TrainRecipe {
public:
  /// `teacher` nullptr: there is none.
  LmRecipe(RunContext& run, const LmTrainSettings& settings, language::LmConfig config, LmData data,
           const LmTeacher* teacher)
      : run_(run),
        settings_(settings),
        windows_(windows_of(settings, std::move(data.training))),
        held_out_(std::move(data.evaluation), settings.seq_len, settings.seed),
        model_(std::move(config), run.device, settings.seed, settings.options),
        objective_(model_, windows_, run.clock,
                   teacher == nullptr ? nullptr : &teacher->distillation()),
        teacher_crc_(data.teacher_crc),
        chat_template_(std::move(data.chat_template)) {}

  train::Objective& objective() override { return objective_; }
  std::uint32_t data_crc() const override {
    return algorithms::crc_of(windows_.examples()) ^ teacher_crc_;
  }

  DataPlace data_place() const override {
    if (settings_.distill && !settings_.distill->targets.empty())
      return {"the file of `distill.targets`", "targets", settings_.distill->targets.string()};
    if (settings_.distill)
      return {"`distill.model` or the data", "weights or examples",
              settings_.distill->model.string()};
    if (!settings_.rows) return {"data.little_texts", "texts", settings_.folder.string()};
    return {"the file of `data.path`", "examples", settings_.rows->path.string()};
  }

  std::map<std::string, std::string> model_files() const override {
    if (run_.topology.world().rank() != 0) return {};
    std::map<std::string, std::string> files = language::companion_files(settings_.folder);
    if (!chat_template_.empty()) files["chat_template.jinja"] = chat_template_;
    return files;
  }

  Evaluation evaluate(std::int64_t step) override {
    const double loss = held_out_loss();
    run_.log.event({"eval", {{"step", step}, {"loss", loss}}});
    run_.scalars.scalar("eval/loss", step, loss);
    return {{loss}, std::nullopt};
  }

  /// Rank 0 reads the weights, the others receive them. Collective.
  void load_weights() {
    if (settings_.is_fresh) return;
    const cluster::Group& world = run_.topology.world();
    at::Tensor weights;  // on the host; on the CPU the model's own
    cluster::run_together(world, [&] {
      if (world.rank() == 0) model_.load(store::WeightFiles(settings_.folder));
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

  const algorithms::LmWindows& windows() const { return windows_; }
  const language::TrainableModel& model() const { return model_; }

private:
  /// Mean over the learned tokens, nats. Every window is added up alone, in one order, so that the
  /// number of ranks changes nothing. Collective.
  double held_out_loss() const {
    const auto evaluating = run_.clock.enter("evaluation");
    const cluster::Group& world = run_.topology.world();
    std::vector<double> losses(held_out_.size(), 0.0);
    cluster::run_together(world, [&] {
      for (std::size_t w = static_cast<std::size_t>(world.rank()); w < losses.size();
           w += static_cast<std::size_t>(world.size())) {
        language::LmBatch batch;
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

  RunContext& run_;
  const LmTrainSettings& settings_;
  algorithms::LmWindows windows_;
  algorithms::LmWindows held_out_;
  language::TrainableModel model_;
  algorithms::LmObjective objective_;
  std::uint32_t teacher_crc_;
  std::string chat_template_;  // that the examples are written in, where it is not the folder's
};

/// "3 rows cannot be used and are left out, the first: data.jsonl:3: it is an empty line"
std::string left_out_text(const LeftOut& left_out) {
  const bool is_one = left_out.rows == 1;
  return report::grouped(left_out.rows) +
         (is_one ? " row cannot be used and is left out: "
                 : " rows cannot be used and are left out, the first: ") +
         left_out.first;
}

void announce(RunContext& run, const LmTrainSettings& settings, const LmRecipe& recipe,
              const Trainer& trainer) {
  const algorithms::LmWindows& windows = recipe.windows();
  const language::LmConfig& config = recipe.model().config();
  report::Facts facts = batch_facts(run, settings, trainer);
  facts.data = report::grouped(static_cast<std::int64_t>(windows.examples().size())) +
               " examples, " + report::grouped(std::ssize(windows.examples().ids)) + " tokens in " +
               report::grouped(static_cast<std::int64_t>(windows.size())) +
               report::text_of(" sequences of %lld, %.1f %% full",
                               static_cast<long long>(settings.seq_len), 100.0 * windows.fill()) +
               "; " + config.family + " of " + report::grouped(trainer.num_parameters()) +
               " parameters";
  if (settings.distill && settings.distill->on_policy > 0.0)
    facts.data += report::text_of("; draws %.3g %% of the completions itself",
                                  100.0 * settings.distill->on_policy);
  run.announce(facts);
  tell_schedule(run, settings, trainer);
}

/// Rows that are left out are counted.
void tell_rows_left_out(RunContext& run, const LmData& data) {
  if (data.rows_without > 0)
    run.log.event({"note",
                   {{"text", report::grouped(data.rows_without) +
                                 " rows of `distill.targets` have nothing to learn"}}});
  for (const LeftOut& left_out : data.left_out)
    run.log.event({"warn", {{"text", left_out_text(left_out)}}});
}

void add_rows_left_out(const std::vector<LeftOut>& left_out, JobOutcome& outcome) {
  std::int64_t rows = 0;
  for (const LeftOut& of_file : left_out)
    rows += of_file.rows;
  if (rows == 0) return;
  outcome.results.push_back(
      {"bad_rows", "rows that could not be used", static_cast<double>(rows), "", 0});
}

store::SmallTable held_out_table(const TrainCurves& curves) {
  std::vector<std::int64_t> step;
  std::vector<double> loss;
  for (std::int64_t i = 0; i < curves.evaluations(); ++i) {
    step.push_back(curves.evaluated_at(i));
    loss.push_back(curves.returns(i).front());
  }
  return store::make_small_table("metrics/eval",
                                 {{"step", step, "optimizer steps done", "steps"},
                                  {"loss", loss, "mean over the tokens of data.eval_path", "nats"}},
                                 {.signal = "loss", .axis = "step"});
}

store::SealRequest lm_results(const SealPlace& place, const TrainCurves& curves,
                              std::int64_t steps) {
  store::SealRequest request = seal_request(place, "train");
  request.small_tables = {train_table(curves, steps)};
  if (curves.evaluations() > 0) request.small_tables.push_back(held_out_table(curves));
  return request;
}

void show(const TrainCurves& curves, JobOutcome& outcome) {
  report::TrainPictures pictures;
  for (std::int64_t s = 0; s < outcome.done; ++s) {
    const train::StepRow row = curves.step(s);
    for (const auto& [curve, value] : {std::pair(&pictures.train_loss, row.loss),
                                       std::pair(&pictures.learning_rate, row.learning_rate)}) {
      curve->x.push_back(static_cast<double>(s + 1));
      curve->y.push_back(value);
    }
  }
  const train::StepRow last = curves.step(outcome.done - 1);
  outcome.results = {{"loss", "loss", last.loss, "nats", 4},
                     {"accuracy", "next-token accuracy", last.accuracy, "", 4}};
  outcome.result =
      report::text_of("loss %.4f, next token right in %.1f %%", last.loss, 100.0 * last.accuracy);
  if (curves.evaluations() > 0) {
    const double loss = curves.returns(curves.evaluations() - 1).front();
    outcome.results.push_back({"eval_loss", "loss on data.eval_path", loss, "nats", 4});
    outcome.result += report::text_of("; on data.eval_path %.4f", loss);
  }
  outcome.page = std::make_unique<report::TrainPage>(std::move(pictures));
}

void require_file(const Config& config, const char* name, const std::filesystem::path& path) {
  std::error_code missing;
  if (std::filesystem::is_regular_file(path, missing)) return;
  throw ConfigFailure(
      {{"E603", "there is no such file: " + path.string(), config.place(name), "", ""}},
      ExitCode::no_input);
}

}  // namespace

void check_lm_training(const Config& config, int ranks) {
  check_together(
      {[&] { read_lm_train_settings(config); }, [&] { train::check_batch(config, ranks); }});
}

void check_lm_files(const Config& config) {
  const LmTrainSettings settings = read_lm_train_settings(config);
  require_file(config, settings.is_fresh ? "model.init" : "model.path",
               settings.folder / "config.json");
  require_file(config, settings.is_fresh ? "model.init" : "model.path",
               settings.folder / "tokenizer.json");
  check_chat_template(config, settings.folder);
  if (settings.rows) require_file(config, "data.path", settings.rows->path);
  if (settings.eval_rows) require_file(config, "data.eval_path", settings.eval_rows->path);
  check_teacher_files_of(config, settings);
  const language::LmConfig model = language::read_lm_config(settings.folder);
  if (model.rope.kind == language::RopeKind::none && settings.seq_len > model.positions) {
    throw config.problem("E107", "train.seq_len",
                         "`train.seq_len` is more than the model's " +
                             std::to_string(model.positions) + " positions",
                         "train.seq_len=" + std::to_string(model.positions));
  }
}

std::vector<FileCheck> lm_file_checks(const Config& config) {
  const LmTrainSettings settings = read_lm_train_settings(config);
  const std::string what = settings.rows ? settings.rows->path.string()
                           : settings.distill && !settings.distill->targets.empty()
                               ? settings.distill->targets.string()
                               : "data.little_texts";
  return {{what, [settings](const cluster::Group& world) {
             std::int64_t vocab = 0;
             cluster::run_together(
                 world, [&] { vocab = language::read_lm_config(settings.folder).vocab; });
             const LmData data = load_lm_data(world, settings, vocab);
             const algorithms::LmWindows windows = windows_of(settings, data.training);
             std::string text = report::grouped(static_cast<std::int64_t>(data.training.size())) +
                                " examples in " +
                                report::grouped(static_cast<std::int64_t>(windows.size())) +
                                " sequences";
             for (const LeftOut& left_out : data.left_out)
               text += "; " + left_out_text(left_out);
             return text;
           }}};
}

JobOutcome run_lm_training(RunContext& run) {
  const cluster::Group& world = run.topology.world();
  const LmTrainSettings settings = read_lm_train_settings(run.config);
  language::LmConfig config;
  cluster::run_together(world, [&] { config = language::read_lm_config(settings.folder); });
  LmData data;
  {
    const auto reading = run.clock.enter("tokenize");
    data = load_lm_data(world, settings, config.vocab);
  }
  // Memory is taken here, and may be short on some ranks only.
  tell_rows_left_out(run, data);
  const std::vector<LeftOut> left_out = data.left_out;
  std::optional<LmTeacher> teacher;
  std::optional<LmRecipe> recipe;
  std::optional<Trainer> trainer;
  {
    const auto building = run.clock.enter("start-up");
    if (settings.distill) teacher.emplace(run, *settings.distill, data);
    cluster::run_together(world, [&] {
      recipe.emplace(run, settings, std::move(config), std::move(data),
                     teacher ? &*teacher : nullptr);
      trainer.emplace(run, settings, *recipe);
    });
    recipe->load_weights();
  }
  announce(run, settings, *recipe, *trainer);
  trainer->restore();
  if (!trainer->train()) return trainer->outcome(ExitCode::stopped);
  const auto sealing = run.clock.enter("results");
  store::seal(world, lm_results({run.config, run.store, run.directory}, trainer->curves(),
                                trainer->state().steps_done));
  JobOutcome outcome = trainer->outcome(ExitCode::done);
  outcome.remarks = {{"checkpoints", std::to_string(trainer->saves()) + " saved"}};
  show(trainer->curves(), outcome);
  add_rows_left_out(left_out, outcome);
  return outcome;
}

MergedRun merge_lm_training(const cluster::Group& world, const SealPlace& place) {
  LmTrainSettings settings;
  std::optional<language::TrainableModel> model;
  cluster::run_together(world, [&] {
    settings = read_lm_train_settings(place.config);
    model.emplace(language::read_lm_config(settings.folder), Device{}, settings.seed);
  });
  train::Adamw optimizer(model->parameters(), settings.optimizer.adamw);
  train::LossScaler scaler(settings.optimizer.mixed_precision == model::ComputeKind::f16);
  TrainCurves curves(settings.optimizer.schedule.max_steps, settings.planned_evaluations(),
                     settings.evaluation_values);
  TrainState state(model->parameters(), optimizer, scaler, curves);
  MergedRun merged;
  merged.warnings =
      state.load({world,
                  place.directory.path(),
                  {static_cast<int>(place.directory.attempt()), settings.checkpoint.keep}});
  merged.parts = {{"training", state.steps_done, settings.optimizer.schedule.max_steps, "steps"}};
  store::SealRequest request = lm_results(place, curves, state.steps_done);
  request.partial = true;
  store::seal(world, request);
  return merged;
}

}  // namespace mgpu::jobs
