#include "results.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/small_table.hpp>

#include "recipes/train_table.hpp"

namespace mgpu::recipes {
namespace {

store::SmallTable held_out_table(const TrainCurves& curves, const std::string& loss_unit,
                                 std::span<const ReportedValue> held_out_values) {
  std::vector<std::int64_t> step;
  std::vector<double> loss;
  std::vector<double> accuracy;
  for (std::int64_t i = 0; i < curves.evaluations(); ++i) {
    step.push_back(curves.evaluated_at(i));
    loss.push_back(curves.value(i, "loss"));
    accuracy.push_back(curves.value(i, "accuracy"));
  }
  std::vector<store::SmallColumn> columns{
      {"step", step, "optimizer steps done", "steps"},
      {"loss", loss, "mean loss of held-out rows", loss_unit},
      {"accuracy", accuracy, "share of right predictions on held-out rows", ""}};
  for (const ReportedValue& value : held_out_values) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < curves.evaluations(); ++i)
      values.push_back(curves.value(i, value.name));
    columns.push_back({value.name, values, value.text + ", held-out rows", value.unit});
  }
  return store::make_small_table("metrics/eval", columns, {.signal = "loss", .axis = "step"});
}

/// Adds the values of the newest evaluation to `outcome`.
void show_held_out(const TrainCurves& curves, const ResultNames& names,
                   std::span<const ReportedValue> held_out_values, run::JobOutcome& outcome) {
  const std::int64_t newest = curves.evaluations() - 1;
  const double loss = curves.value(newest, "loss");
  const double accuracy = curves.value(newest, "accuracy");
  outcome.results.push_back({"eval_loss", "loss on " + names.held_out, loss, names.loss_unit, 4});
  outcome.results.push_back(
      {"eval_accuracy", names.accuracy + " on " + names.held_out, accuracy, "", 4});
  outcome.result +=
      report::text_of("; on %s loss %.4f, accuracy %.4f", names.held_out.c_str(), loss, accuracy);
  for (const ReportedValue& value : held_out_values) {
    if (value.held_out.empty()) continue;
    const double number = curves.value(newest, value.name);
    outcome.results.push_back(
        {"eval_" + value.name, value.text + " on " + names.held_out, number, value.unit, 4});
    outcome.result += report::text_of(", %s %.4f", value.held_out.c_str(), number);
  }
}

void add_point(report::Curve& curve, double x, double y) {
  curve.x.push_back(x);
  curve.y.push_back(y);
}

/// Returns the curves of the values that the recipe reports.
std::vector<ValueCurves> value_curves(const TrainCurves& curves, std::int64_t steps) {
  std::vector<ValueCurves> all;
  for (std::size_t v = 0; v < curves.step_values().size(); ++v) {
    ValueCurves& value = all.emplace_back(ValueCurves{curves.step_values()[v], {}, {}});
    for (std::int64_t s = 0; s < steps; ++s)
      add_point(value.train, static_cast<double>(s + 1), curves.step_value(s, v));
    for (std::int64_t i = 0; i < curves.evaluations(); ++i)
      add_point(value.held_out, static_cast<double>(curves.evaluated_at(i)),
                curves.value(i, value.about.name));
  }
  return all;
}

/// Fills the curves of the page with the first `steps` steps.
void fill_curves(const TrainCurves& curves, std::int64_t steps, LmPlots& plots) {
  for (std::int64_t s = 0; s < steps; ++s) {
    const train::StepRow row = curves.step(s);
    const auto step = static_cast<double>(s + 1);
    add_point(plots.train_loss, step, row.loss);
    add_point(plots.train_accuracy, step, row.accuracy);
    add_point(plots.learning_rate, step, row.learning_rate);
    if (curves.has_cross_entropy()) add_point(plots.cross_entropy, step, row.cross_entropy);
  }
  for (std::int64_t i = 0; i < curves.evaluations(); ++i) {
    const auto step = static_cast<double>(curves.evaluated_at(i));
    add_point(plots.held_out_loss, step, curves.value(i, "loss"));
    add_point(plots.held_out_accuracy, step, curves.value(i, "accuracy"));
  }
  plots.values = value_curves(curves, steps);
}

}  // namespace

store::SealRequest lm_results(const run::SealPlace& place, const TrainCurves& curves,
                              std::int64_t steps, const std::string& loss_unit,
                              std::span<const ReportedValue> held_out_values) {
  store::SealRequest request = run::seal_request(place, "train");
  request.small_tables = {train_table(curves, steps, loss_unit)};
  if (curves.evaluations() > 0)
    request.small_tables.push_back(held_out_table(curves, loss_unit, held_out_values));
  return request;
}

void add_training_results(const TrainCurves& curves, const ResultNames& names,
                          std::span<const ReportedValue> held_out_values, LmPlots plots,
                          run::JobOutcome& outcome) {
  fill_curves(curves, outcome.done, plots);
  const train::StepRow last = curves.step(outcome.done - 1);
  outcome.results = {{"loss", "loss", last.loss, names.loss_unit, 4},
                     {"accuracy", names.accuracy, last.accuracy, "", 4}};
  outcome.result =
      report::text_of("loss %.4f, %s %.4f", last.loss, names.accuracy.c_str(), last.accuracy);
  if (const std::string goal = goal_text(plots); !goal.empty()) outcome.result = goal;
  for (const ValueCurves& value : plots.values)
    outcome.results.push_back(
        {value.about.name, value.about.text, value.train.y.back(), value.about.unit, 4});
  if (curves.evaluations() > 0) show_held_out(curves, names, held_out_values, outcome);
  outcome.page = std::make_unique<LmPage>(std::move(plots));
}

}  // namespace mgpu::recipes
