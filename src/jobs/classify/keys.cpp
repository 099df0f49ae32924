#include "keys.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <mgpu/config/check_all.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_template.hpp>

namespace mgpu::jobs {
namespace {

void check_labels(const Config& config) {
  const std::vector<std::string> labels = config.texts("classify.labels");
  const auto refuse = [&](const std::string& sentence) {
    throw config.problem("E107", "classify.labels", sentence, "classify.labels=[normal, hate]");
  };
  if (labels.size() < 2) refuse("a classification needs two labels");
  for (const std::string& label : labels)
    if (label.empty()) refuse("a label is empty");
  if (std::set<std::string>(labels.begin(), labels.end()).size() < labels.size())
    refuse("a label comes twice");
  const std::vector<std::string> values = config.values("classify.labels");
  if (std::set<std::string>(values.begin(), values.end()).size() < values.size())
    refuse("two labels have the same value in the data");
}

void check_positive(const Config& config) {
  if (config.is("classify.positive", "null")) return;
  const std::vector<std::string> labels = config.texts("classify.labels");
  const std::string positive = config.text("classify.positive");
  if (std::ranges::find(labels, positive) != labels.end()) return;
  throw config.problem("E107", "classify.positive",
                       "`classify.positive` is none of classify.labels",
                       "classify.positive=" + labels.back());
}

/// Refuses a label that begins with another label if the scores are sums of log-probabilities. The
/// tokens of the longer label usually begin with those of the shorter label. In this case the
/// longer label can never win, because its sum is at most that of the shorter label.
void check_prefixes(const Config& config) {
  if (config.is("classify.score", "generate") || config.is("classify.normalize", "mean")) return;
  const std::vector<std::string> labels = config.texts("classify.labels");
  for (const std::string& label : labels)
    for (const std::string& other : labels)
      if (label != other && other.starts_with(label))
        throw config.problem("E124", "classify.labels",
                             "label `" + other + "` begins with label `" + label +
                                 "`, which then has always the larger sum of log-probabilities",
                             "classify.normalize=mean, or other words");
}

/// Returns whether classify.prompt is the text of a template, not the name of a file.
bool is_prompt_text(const Config& config) {
  return !config.is("classify.prompt", "null") &&
         config.text("classify.prompt").find(rows::kTextColumn) != std::string::npos;
}

/// Refuses a key that has no effect and does not have its default value:
/// - classify.normalize, with classify.score=generate
/// - classify.on_unparsed, with classify.score=label_logprob
/// - classify.strategy, if classify.prompt names no file
void refuse_useless_keys(const Config& config) {
  const auto refuse = [&](const char* name, const char* standard, const char* other) {
    if (config.is(name, standard)) return;
    throw config.problem(
        "E124", name,
        std::string(name) + " means nothing with classify.score=" + config.text("classify.score"),
        std::string("classify.score=") + other);
  };
  if (config.is("classify.score", "generate"))
    refuse("classify.normalize", "sum", "label_logprob");
  else
    refuse("classify.on_unparsed", "count", "generate");
  const bool has_file = !config.is("classify.prompt", "null") && !is_prompt_text(config);
  if (!config.is("classify.strategy", "null") && !has_file)
    throw config.problem("E124", "classify.strategy",
                         "classify.strategy means nothing without a file of strategies",
                         "classify.prompt=FILE.json");
}

rows::ModelRowKeys read_rows(const Config& config) {
  rows::ModelRowKeys keys = rows::read_model_row_keys(config);
  keys.options.all_of = {"text"};
  keys.options.may_have = {"label", "group"};
  keys.options.keeps = {"id"};  // not `label`, which the table has as column `true_label`
  return keys;
}

}  // namespace

void add_classify_keys(KeyTable& table) {
  table.add({.name = "classify.labels",
             .type = KeyType::texts,
             .default_value = "[normal, hate]",
             .summary = "what a text may be; as {NAME: VALUE} each name has the value that stands "
                        "for it in the data",
             .may_map = true});
  table.add(
      {.name = "classify.positive",
       .type = KeyType::text,
       .default_value = "null",
       .summary = "the label that precision, recall, F1 and error rates are of; null: the last",
       .choices = {"null"}});
  table.add({.name = "classify.prompt",
             .type = KeyType::path,
             .default_value = "null",
             .summary =
                 "file of prompt strategies (JSON), or one template with {text}, as a file or as "
                 "the text itself; null: a short prompt of the program's own",
             .choices = {"null"},
             .text_mark = rows::kTextColumn});
  table.add({.name = "classify.strategy",
             .type = KeyType::text,
             .default_value = "null",
             .summary = "which strategy of the file; null: the only one",
             .choices = {"null"}});
  table.add({.name = "classify.score",
             .type = KeyType::choice,
             .default_value = "label_logprob",
             .summary = "compare the log-probabilities of the labels after the prompt, or generate "
                        "an answer and read the label in it",
             .choices = {"label_logprob", "generate"}});
  table.add({.name = "classify.normalize",
             .type = KeyType::choice,
             .default_value = "sum",
             .summary = "log-probability of a label: of all its tokens, or the mean of them",
             .choices = {"sum", "mean"}});
  table.add({.name = "classify.on_unparsed",
             .type = KeyType::choice,
             .default_value = "count",
             .summary =
                 "an answer without a label is unknown and counts as wrong, is drawn again up "
                 "to twice, or ends the run",
             .choices = {"count", "retry", "error"}});
  table.add({.name = "classify.batch_size",
             .type = KeyType::integer,
             .default_value = "16",
             .summary = "texts that a model has in memory at once; on a CPU, it changes time "
                        "and memory only; auto: as many as all ranks have memory for",
             .unit = "texts",
             .min = 1,
             .max = 65536,
             .choices = {"auto"},
             .identity = false});
}

void check_classify_keys(const Config& config) {
  check_all({[&] {
               rows::check_model_keys(config,
                                      "data.path=FILE, with a `text` and a `label` in each "
                                      "row; data.columns.text=COLUMN for other names");
             },
             [&] { check_labels(config); }, [&] { check_positive(config); },
             [&] { check_prefixes(config); }, [&] { refuse_useless_keys(config); }});
}

ClassifyConfig read_classify_config(const Config& config) {
  ClassifyConfig result;
  result.run = run::read_job_keys(config);
  result.rows = read_rows(config);
  result.length = rows::read_length_keys(config);
  result.labels = config.texts("classify.labels");
  result.label_values = config.values("classify.labels");
  result.positive = result.labels.size() - 1;
  result.has_positive = !config.is("classify.positive", "null");
  if (result.has_positive)
    result.positive = static_cast<std::size_t>(
        std::ranges::find(result.labels, config.text("classify.positive")) - result.labels.begin());
  if (is_prompt_text(config))
    result.prompt_text = config.text("classify.prompt");
  else if (!config.is("classify.prompt", "null"))
    result.prompt_file = config.text("classify.prompt");
  if (!config.is("classify.strategy", "null")) result.strategy = config.text("classify.strategy");
  result.generates = config.is("classify.score", "generate");
  result.is_mean = config.is("classify.normalize", "mean");
  result.on_unparsed = config.is("classify.on_unparsed", "retry")   ? Unparsed::retry
                       : config.is("classify.on_unparsed", "error") ? Unparsed::error
                                                                    : Unparsed::count;
  if (!config.is("classify.batch_size", "auto"))
    result.batch_size = config.integer("classify.batch_size");
  return result;
}

std::string classify_text(const ClassifyConfig& config) {
  std::string text = "labels ";
  for (std::size_t i = 0; i < config.labels.size(); ++i) {
    if (i > 0) text += i + 1 == config.labels.size() ? " and " : ", ";
    text += config.labels[i];
  }
  if (config.generates) return text + ", read in generated answers";
  return text + ", by log-probability" + (config.is_mean ? " per token" : "");
}

}  // namespace mgpu::jobs
