#include "table.hpp"

#include <mgpu/store/journal/chunk_payload.hpp>

namespace mgpu::jobs {
namespace {

using store::ColumnType;

std::string label_name(std::int32_t label, const ClassifyConfig& config, const char* none) {
  return label < 0 ? none : config.labels[static_cast<std::size_t>(label)];
}

/// A row whose answer names no label is unknown, whatever else it was.
ClassifyOutcome outcome_of(const ClassifySample& sample, const GivenLabel& given) {
  return !sample.ids.empty() && given.label < 0 ? ClassifyOutcome::unknown : sample.outcome;
}

/// What guide 003 writes as the label that was predicted.
const char* unpredicted(ClassifyOutcome outcome) {
  return outcome == ClassifyOutcome::unknown ? "unknown" : "error";
}

}  // namespace

store::TableSpec classify_table(std::int64_t rows, const ClassifyConfig& config) {
  store::TableSpec spec{
      .path = "samples",
      .rows = rows,
      .columns =
          {{"true", ColumnType::i32, 1, "index of the row's label; -1: it has none", ""},
           {"pred", ColumnType::i32, 1, "index of the label that was found; -1: unknown", ""},
           {"outcome", ColumnType::u8, 1,
            "0 success, 1 success with the text cut at data.max_length, 2 the answer names no "
            "label, 3 left out for its length, 4 a row that cannot be used",
            ""},
           {"score", ColumnType::f64, 1, "log-probability of the label, or of the generated answer",
            "nats"},
           {"margin", ColumnType::f64, 1, "to the second best label", "nats"},
           {"positive", ColumnType::f64, 1, "probability of the positive label among the labels",
            ""},
           {"confidence", ColumnType::f64, 1, "probability of the label that was found", ""},
           {"n_prompt_tokens", ColumnType::i32, 1, "length of the prompt", "tokens"},
           {"n_output_tokens", ColumnType::i32, 1, "length of the generated answer", "tokens"},
           {"strategy", ColumnType::text, 1, "prompt strategy", ""},
           {"input_text", ColumnType::text, 1, "the text", ""},
           {"true_label", ColumnType::text, 1, "the row's label", ""},
           {"predicted_label", ColumnType::text, 1, "the label that was found, unknown or error",
            ""},
           {"rationale", ColumnType::text, 1, "what the answer gives as its reason", ""},
           {"target_group_norm", ColumnType::text, 1, "group of the row", ""},
           {"persona_tag", ColumnType::text, 1, "of the row", ""},
           {"source_dataset", ColumnType::text, 1, "of the row", ""},
           {"status", ColumnType::text, 1, "outcome in words", ""},
           {"reason", ColumnType::text, 1, "why it is not a whole success", ""}},
      .signal = "",
      .axis = ""};
  if (config.generates)
    spec.columns.push_back({"output", ColumnType::text, 1, "the answer", ""});
  else
    spec.columns.push_back({"label_scores", ColumnType::f64, 1,
                            "log-probability of each label; of no label where there is no answer",
                            "nats", true});
  return spec;
}

std::vector<std::byte> classify_rows(const store::TableSpec& spec, std::int64_t first,
                                     std::span<const ClassifySample> samples,
                                     std::span<const GivenLabel> given,
                                     const ClassifyConfig& config, const std::string& strategy) {
  store::ChunkEncoder rows(spec, first, std::ssize(samples));
  const auto each = [&]<class T>(const auto& value_of) {
    std::vector<T> values;
    for (std::size_t i = 0; i < samples.size(); ++i)
      values.push_back(static_cast<T>(value_of(samples[i], given[i])));
    return values;
  };
  const auto numbers = [&]<class T>(const char* name, T /*type*/, const auto& value_of) {
    const std::vector<T> values = each.template operator()<T>(value_of);
    rows.column(name, std::span<const T>(values));
  };
  const auto texts = [&](const char* name, const auto& value_of) {
    const auto values = each.template operator()<std::string>(value_of);
    rows.text(name, values);
  };
  using Sample = ClassifySample;
  using Given = GivenLabel;
  numbers("true", std::int32_t{}, [](const Sample& s, const Given&) { return s.truth; });
  numbers("pred", std::int32_t{}, [](const Sample&, const Given& g) { return g.label; });
  numbers("outcome", std::uint8_t{},
          [](const Sample& s, const Given& g) { return outcome_of(s, g); });
  numbers("score", double{}, [](const Sample&, const Given& g) { return g.score; });
  numbers("margin", double{}, [](const Sample&, const Given& g) { return g.margin; });
  numbers("positive", double{}, [](const Sample&, const Given& g) { return g.positive; });
  numbers("confidence", double{}, [](const Sample&, const Given& g) { return g.confidence; });
  numbers("n_prompt_tokens", std::int32_t{},
          [](const Sample& s, const Given&) { return std::ssize(s.ids); });
  numbers("n_output_tokens", std::int32_t{},
          [](const Sample&, const Given& g) { return g.output_tokens; });
  texts("strategy", [&](const Sample&, const Given&) { return strategy; });
  texts("input_text", [](const Sample& s, const Given&) { return s.text; });
  texts("true_label",
        [&](const Sample& s, const Given&) { return label_name(s.truth, config, ""); });
  texts("predicted_label", [&](const Sample& s, const Given& g) {
    return label_name(g.label, config, unpredicted(outcome_of(s, g)));
  });
  texts("rationale", [](const Sample&, const Given& g) { return g.rationale; });
  texts("target_group_norm", [](const Sample& s, const Given&) { return s.group; });
  texts("persona_tag", [](const Sample& s, const Given&) { return s.persona; });
  texts("source_dataset", [](const Sample& s, const Given&) { return s.source; });
  texts("status", [](const Sample& s, const Given& g) { return name_of(outcome_of(s, g)); });
  texts("reason", [](const Sample& s, const Given&) { return s.reason; });
  if (config.generates) {
    texts("output", [](const Sample&, const Given& g) { return g.output; });
    return rows.finish();
  }
  std::vector<std::vector<double>> scores;
  for (const GivenLabel& label : given)
    scores.push_back(label.label_scores);
  rows.lists("label_scores", std::span<const std::vector<double>>(scores));
  return rows.finish();
}

}  // namespace mgpu::jobs
