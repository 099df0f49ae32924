#include "train_table.hpp"

#include <cstddef>
#include <vector>

namespace mgpu::recipes {

store::SmallTable train_table(const TrainCurves& curves, std::int64_t steps,
                              const std::string& loss_unit) {
  std::vector<std::int64_t> step;
  std::vector<double> loss;
  std::vector<double> accuracy;
  std::vector<double> learning_rate;
  std::vector<double> grad_norm;
  std::vector<double> cross_entropy;
  for (std::int64_t s = 0; s < steps; ++s) {
    const train::StepRow row = curves.step(s);
    step.push_back(s + 1);
    loss.push_back(row.loss);
    accuracy.push_back(row.accuracy);
    learning_rate.push_back(row.learning_rate);
    grad_norm.push_back(row.grad_norm);
    cross_entropy.push_back(row.cross_entropy);
  }
  std::vector<store::SmallColumn> columns{{"step", step, "optimizer steps done", "steps"},
                                          {"loss", loss, "mean over the global batch", loss_unit},
                                          {"accuracy", accuracy, "share of right predictions"},
                                          {"learning_rate", learning_rate, "of this step"},
                                          {"grad_norm", grad_norm, "before clipping"}};
  if (curves.has_cross_entropy())
    columns.push_back({"cross_entropy", cross_entropy, "of the data, a part of the loss", "nats"});
  for (std::size_t i = 0; i < curves.step_values().size(); ++i) {
    const ReportedValue& value = curves.step_values()[i];
    std::vector<double> values;
    for (std::int64_t s = 0; s < steps; ++s)
      values.push_back(curves.step_value(s, i));
    columns.push_back({value.name, values, value.text, value.unit});
  }
  return store::make_small_table("metrics/train", columns, {.signal = "loss", .axis = "step"});
}

}  // namespace mgpu::recipes
