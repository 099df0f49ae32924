#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/report/svg_chart.hpp>

#include "method.hpp"
#include "sample_texts.hpp"

namespace mgpu::recipes {

/// The curves of a number that the recipe reports.
struct ValueCurves {
  ReportedValue about;
  report::Curve train;
  report::Curve held_out;  // empty: no held-out rows
};

/// The data that the page shows about the training of a language model. The x values of its curves
/// are numbers of finished steps.
struct LmPlots {
  LossMeaning meaning;
  std::int64_t vocab = 0;    // number of tokens of the vocabulary
  std::string held_out;      // names the held-out rows: "data.eval_path"
  std::string accuracy;      // label of the accuracy (LmMethod::accuracy())
  std::string goal{};        // name of the value that training maximizes; "": minimizes the loss
  double epochs = 0.0;       // mean number of times that training used each item
  double fill = 0.0;         // share of the token positions in windows that are not padding
  double mean_tokens = 0.0;  // mean number of tokens of examples in a window

  std::vector<SampleText> samples{};  // prompts with texts that the trained model wrote
  bool samples_are_held_out = false;  // true: the examples of `samples` are not trained on

  report::Curve train_loss;
  report::Curve cross_entropy;  // CE in distance_of(); empty if LossMeaning::ce_weight is unset
  report::Curve held_out_loss;  // empty: no held-out rows
  report::Curve train_accuracy;
  report::Curve held_out_accuracy;
  report::Curve learning_rate;
  std::vector<ValueCurves> values;  // values with the same chart title are adjacent
};

/// Returns the distance D between the distributions of the student and the teacher at each step.
/// The loss is w CE + (1 - w) D, with w = LossMeaning::ce_weight and CE = LmPlots::cross_entropy.
/// The curve is empty if ce_weight is unset.
report::Curve distance_of(const LmPlots& plots);

/// Returns "mean reward 0.9453 in the last 10 steps, 0.3516 in the first 10". Returns "" if
/// LmPlots::goal is "".
std::string goal_text(const LmPlots& plots);

/// Returns one sentence about the result: "Loss fell from 6.27 to 0.37 nats per token (perplexity
/// 1.45); on data.eval_path it is 0.24 (perplexity 1.27).".
std::string lm_headline(const LmPlots& plots, const report::RunSummary& summary);

/// Makes report.html of a training of a language model, and its part of summary.json.
class LmPage final : public report::JobPage {
public:
  explicit LmPage(LmPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  LmPlots plots_;
};

}  // namespace mgpu::recipes
