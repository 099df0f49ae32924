#include "keys.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <mgpu/config/check_all.hpp>
#include <mgpu/rows/model_keys.hpp>

namespace mgpu::recipes {
namespace {

/// Returns whether the key `name` selects rows of a file, or defines how rows are read.
bool is_of_rows(const std::string& name) {
  return input::is_format_key(name) || name == "data.on_bad_row" || name == "data.start" ||
         name == "data.max_samples" || name == "data.chat_template" || name == "data.template" ||
         name == "data.labels";
}

/// Returns whether the key `name` selects rows to train on. Such a key does not apply to the rows
/// of data.eval_path.
bool selects_training_rows(const std::string& name) {
  return name == "data.start" || name == "data.max_samples";
}

/// Returns whether the key `name`, for which is_of_rows() is true, also applies to the rows of a
/// built-in data set.
bool is_of_any_rows(const std::string& name) {
  return selects_training_rows(name) || name == "data.on_bad_row" || name == "data.chat_template";
}

/// Refuses a key for which is_of_rows() is true, if the configuration has no rows to which the key
/// applies.
void refuse_row_keys(const Config& config) {
  if (!config.is("data.path", "null")) return;
  const bool has_rows = datasets::dataset_of(config) != nullptr;
  const bool has_file = !config.is("data.eval_path", "null");
  for (const std::string& name : config.not_default()) {
    if (!is_of_rows(name) || (has_file && !selects_training_rows(name))) continue;
    if (has_rows && is_of_any_rows(name)) continue;
    throw config.problem("E124", name, "`" + name + "` has no meaning without `data.path`",
                         "remove it, or data.path=FILE");
  }
}

/// Returns the options of held-out rows: `options` with the file `path`, of which all rows are
/// read.
input::RowOptions all_rows(input::RowOptions options, const std::filesystem::path& path) {
  options.path = path;
  options.start = 0;
  options.max_samples.reset();
  return options;
}

void check_sources(const Config& config, const LmMethod& method) {
  if (!config.is("model.path", "null") && !config.is("model.init", "null")) {
    throw config.problem("E124", "model.init",
                         "`model.init` and `model.path` both say where training begins",
                         "remove one of them");
  }
  if (config.is("data.path", "null") && datasets::dataset_of(config) == nullptr &&
      method.source().empty()) {
    throw config.problem("E107", "data.path", "`data.path` names no file to train on",
                         "data.path=FILE with `prompt` and `completion`, `messages` or `text`; "
                         "data.synthetic_texts=4000; or distill.targets=PATH");
  }
  rows::check_dataset_keys(config, datasets::Split::train);
}

/// Reads the options of the rows to train on, and of the held-out rows whose loss is measured.
void read_rows(const Config& config, LmTrainSettings& settings) {
  const input::RowOptions rows = input::read_row_options(config);
  const auto chosen = datasets::read_dataset(config, datasets::Split::train);
  if (chosen || !rows.path.empty()) settings.rows = rows;
  if (const std::filesystem::path path = read_eval_path(config); !path.empty())
    settings.eval_rows = all_rows(rows, path);
  if (!chosen) return;
  settings.rows->generated = chosen->rows;
  settings.rows->columns.clear();  // data.columns names columns of data.eval_path only
  const auto held_out = datasets::rows_of(*chosen, datasets::Split::validation);
  if (settings.eval_rows || !held_out || chosen->split == datasets::Split::validation) return;
  settings.eval_rows = all_rows(*settings.rows, "");
  settings.eval_rows->generated = held_out;
}

const char* why_no_template(const std::string& value) {
  return value.find(rows::kTextColumn) == std::string::npos ? "a template has {text}" : nullptr;
}

/// Checks data.template and data.labels: labels need a template, a template needs a recipe that
/// learns completions of prompts, and no label may occur twice.
void check_template(const Config& config, const LmMethod& method) {
  const bool has_template = !config.is("data.template", "null");
  const std::vector<std::string> names = config.texts("data.labels");
  if (!names.empty() && !has_template)
    throw config.problem("E124", "data.labels", "data.labels means nothing without data.template",
                         "data.template=\"Text: {text} Label:\"");
  if (has_template && method.row_options({}).one_of.empty())
    throw config.problem("E124", "data.template",
                         "this recipe does not learn completions of prompts", "remove it");
  const std::vector<std::string> values = config.values("data.labels");
  for (const std::vector<std::string>* words : {&names, &values})
    if (std::set<std::string>(words->begin(), words->end()).size() < words->size())
      throw config.problem("E107", "data.labels", "a label comes twice",
                           "data.labels={no: \"0\", yes: \"1\"}");
}

std::optional<rows::RowTemplate> read_template(const Config& config) {
  if (config.is("data.template", "null")) return std::nullopt;
  rows::RowTemplate made{rows::without_last_breaks(config.text("data.template")), std::nullopt,
                         input::read_row_options(config).columns};
  std::vector<std::string> names = config.texts("data.labels");
  if (!names.empty())
    made.labels = rows::LabelNames{std::move(names), config.values("data.labels")};
  return made;
}

/// Returns whether a tokenizer is needed. No tokenizer is needed if all rows are token ids of a
/// built-in data set, data.eval_path is null, and the method needs no tokenizer.
bool needs_tokenizer(const Config& config, const LmMethod& method) {
  const datasets::DatasetEntry* dataset = datasets::dataset_of(config);
  return dataset == nullptr || dataset->has_texts == nullptr || dataset->has_texts(config) ||
         !config.is("data.eval_path", "null") || method.needs_tokenizer();
}

/// Refuses train.share_prompts=false if the method has no groups of sequences with the same prompt.
void check_shared_prompts(const Config& config, const LmMethod& method) {
  if (config.flag("train.share_prompts") || method.items_together() > 1) return;
  throw config.problem("E124", "train.share_prompts",
                       "`train.share_prompts` means nothing here, because each sequence is "
                       "learned alone",
                       "remove it");
}

}  // namespace

void add_lm_train_keys(KeyTable& table) {
  table.add({.name = "model.init",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "job train: Hugging Face folder with config.json and tokenizer.json of a "
                        "language model that begins with random weights",
             .choices = {"null"}});
  table.add({.name = "data.eval_path",
             .type = KeyType::path,
             .default_value = "null",
             .summary =
                 "file of rows whose loss is measured, but not trained on (language models); "
                 "columns and formats as in data.path",
             .choices = {"null"}});
  table.add({.name = "data.template",
             .type = KeyType::text,
             .default_value = "null",
             .summary = "prompt for rows with a text and a label, such as \"Text: {text} Label:\", "
                        "as in classify.prompt; the label is the completion; null: rows have "
                        "prompts",
             .choices = {"null"},
             .why_not = why_no_template});
  table.add({.name = "data.labels",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "labels of data.template, as in classify.labels: {NAME: VALUE}, where the "
                        "completion is the name; []: it is the value of the label column",
             .may_map = true});
  table.add(
      {.name = "train.seq_len",
       .type = KeyType::integer,
       .default_value = "512",
       .summary = "tokens of a sequence of the batch, into which examples are packed "
                  "(language models)",
       .unit = "tokens",
       .min = 2,
       .max = 1 << 20,
       .foreign = {{"max_seq_length", "TRL",
                    "here it is `train.seq_len`; in Algorithm Distillation `model.n_transit`"},
                   {"sequence_len", "axolotl",
                    "here it is `train.seq_len`; in Algorithm Distillation `model.n_transit`"}}});
  table.add({.name = "train.gradient_checkpointing",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "compute each layer again in backward instead of keeping it (language "
                        "models); on a CPU, it changes time and memory only",
             .identity = false});
  table.add({.name = "train.share_prompts",
             .type = KeyType::flag,
             .default_value = "true",
             .summary =
                 "compute the tokens with which the sequences of a group begin once per "
                 "pass (recipes with groups: grpo, dpo, kto, reward, value); gradients change "
                 "by rounding only"});
}

bool trains_language_model(const Config& config) {
  return !config.is("model.path", "null") || !config.is("model.init", "null");
}

std::filesystem::path read_trained_folder(const Config& config) {
  const bool is_fresh = config.is("model.path", "null");
  return is_fresh ? std::filesystem::path(config.text("model.init"))
                  : rows::read_model_path(config);
}

std::filesystem::path read_eval_path(const Config& config) {
  return config.is("data.eval_path", "null") ? "" : config.text("data.eval_path");
}

std::int64_t read_seq_len(const Config& config) {
  return config.integer("train.seq_len");
}

void require_positions(const Config& config, const lm::LmConfig& model, const std::string& what) {
  const std::int64_t most = model.max_positions;
  if (model.rope.kind != lm::RopeKind::none || read_seq_len(config) <= most) return;
  throw config.problem(
      "E107", "train.seq_len",
      "`train.seq_len` is more than the " + what + "'s " + std::to_string(most) + " positions",
      "train.seq_len=" + std::to_string(most));
}

LmTrainSettings read_lm_train_settings(const Config& config, const LmMethod& method) {
  LmTrainSettings settings;
  check_all({[&] { settings.loop = read_loop_settings(config); },
             [&] { check_sources(config, method); }, [&] { refuse_row_keys(config); },
             [&] { check_template(config, method); },
             [&] { check_shared_prompts(config, method); }});
  settings.is_fresh = config.is("model.path", "null");
  settings.folder = read_trained_folder(config);
  read_rows(config, settings);
  if (method.held_out_share() > 0.0 && settings.rows && !settings.eval_rows)
    settings.eval_rows = settings.rows;
  if (method.has_prompts_only()) settings.eval_rows.reset();
  settings.needs_tokenizer = !method.takes_token_ids() && needs_tokenizer(config, method);
  settings.chat = rows::read_chat_choice(config);
  settings.row_template = read_template(config);
  settings.seq_len = read_seq_len(config);
  settings.options.compute = settings.loop.optimizer.mixed_precision;
  settings.options.checkpoint_layers = config.flag("train.gradient_checkpointing");
  settings.options.shares_prefixes = config.flag("train.share_prompts");
  settings.loop.step_values = method.reported_values();
  settings.loop.accuracy_scalar = method.accuracy_scalar();
  if (settings.eval_rows) settings.loop.evaluation_values = {"loss", "accuracy"};
  for (const ReportedValue& value : settings.loop.step_values)
    if (settings.eval_rows) settings.loop.evaluation_values.push_back(value.name);
  settings.loop.evaluates_last_step = true;
  settings.loop.splits_loss = method.loss_meaning().ce_weight.has_value();
  return settings;
}

}  // namespace mgpu::recipes
