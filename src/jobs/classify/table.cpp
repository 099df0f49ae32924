#include "table.hpp"

#include <mgpu/store/results/columns.hpp>

namespace mgpu::jobs {
namespace {

/// A text and the label that was found for it, both of which must outlive this object.
struct ClassifyRow {
  const ClassifySample* sample = nullptr;
  const GivenLabel* given = nullptr;
};

using Columns = store::Columns<ClassifyRow>;

bool is_seen(rows::RowStatus status) {
  return status == rows::RowStatus::ok || status == rows::RowStatus::truncated;
}

/// Returns the name of the label that the model gave to the row. If the row got no label, returns
/// "unknown" if the model saw the row, and "error" if the row was left out.
std::string predicted(const ClassifyRow& row, const std::vector<std::string>& labels) {
  if (row.given->label >= 0) return labels[static_cast<std::size_t>(row.given->label)];
  return is_seen(row.sample->facts.status) ? "unknown" : "error";
}

void add_label_columns(Columns& columns, const std::vector<std::string>& labels) {
  using Row = ClassifyRow;
  columns.add({"true", "index of the row's label; -1: no label"},
              [](const Row& row) { return row.sample->truth; });
  columns.add({"pred", "index of the label that was found; -1: none"},
              [](const Row& row) { return row.given->label; });
  columns.add({"true_label", "the row's label"}, [labels](const Row& row) -> std::string {
    return row.sample->truth < 0 ? "" : labels[static_cast<std::size_t>(row.sample->truth)];
  });
  columns.add({"predicted_label",
               "the label that was found; unknown: the answer names none; error: left out"},
              [labels](const Row& row) { return predicted(row, labels); });
}

void add_score_columns(Columns& columns) {
  using Row = ClassifyRow;
  columns.add({"score", "log-probability of the label, or of the generated answer", "nats"},
              [](const Row& row) { return row.given->score; });
  columns.add({"margin", "to the second best label", "nats"},
              [](const Row& row) { return row.given->margin; });
  columns.add({"positive", "probability of the positive label among the labels"},
              [](const Row& row) { return row.given->positive; });
  columns.add({"confidence", "probability of the label that was found"},
              [](const Row& row) { return row.given->confidence; });
  columns.add({"n_prompt_tokens", "length of the prompt", "tokens"},
              [](const Row& row) { return static_cast<std::int32_t>(row.sample->ids.size()); });
  columns.add({"n_output_tokens", "length of the generated answer", "tokens"},
              [](const Row& row) { return row.given->output_tokens; });
}

void add_text_columns(Columns& columns, const std::string& strategy) {
  using Row = ClassifyRow;
  columns.add({"strategy", "prompt strategy"}, [strategy](const Row&) { return strategy; });
  columns.add({"input_text", "the text"}, [](const Row& row) { return row.sample->text; });
  columns.add({"rationale", "what the answer gives as its reason"},
              [](const Row& row) { return row.given->rationale; });
  columns.add({"target_group_norm", "group of the row"},
              [](const Row& row) { return row.sample->group; });
  columns.add({"persona_tag", "of the row"}, [](const Row& row) { return row.sample->persona; });
  columns.add({"source_dataset", "of the row"}, [](const Row& row) { return row.sample->source; });
}

Columns columns_of(const ClassifyInputs& inputs) {
  using Row = ClassifyRow;
  Columns columns;
  add_label_columns(columns, inputs.config.labels);
  add_score_columns(columns);
  add_text_columns(columns, inputs.strategy.name);
  if (inputs.config.generates)
    columns.add({"output", "the answer"}, [](const Row& row) { return row.given->output; });
  else
    columns.add({"label_scores",
                 "log-probability of each label; of no label where there is no answer", "nats"},
                [](const Row& row) { return row.given->label_scores; });
  rows::add_row_columns(columns, inputs.kept.names(),
                        [](const Row& row) -> const rows::RowFacts& { return row.sample->facts; });
  return columns;
}

}  // namespace

std::string outcome_of(rows::RowStatus status, std::int32_t label) {
  return label < 0 && is_seen(status) ? "unknown" : rows::name_of(status);
}

store::TableSpec classify_table(const ClassifyInputs& inputs) {
  return columns_of(inputs).table("samples", inputs.rows.rows());
}

std::vector<std::byte> classify_rows(const ClassifyInputs& inputs, std::int64_t first,
                                     std::span<const ClassifySample> samples,
                                     std::span<const GivenLabel> given) {
  std::vector<ClassifyRow> rows;
  for (std::size_t i = 0; i < samples.size(); ++i)
    rows.push_back({&samples[i], &given[i]});
  const Columns columns = columns_of(inputs);
  return columns.encode(columns.table("samples", inputs.rows.rows()), first, rows);
}

}  // namespace mgpu::jobs
