#include "keys.hpp"

#include <string>

#include <mgpu/config/check_all.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_keys.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kTopK = 64;
constexpr std::int64_t kDraws = 50;

/// The possible contents of a row, in the order in which error reports name them.
const std::vector<std::string> kContents = {"text", "prompt", "messages", "token_ids"};

rows::ModelRowKeys read_rows(const Config& config) {
  rows::ModelRowKeys keys = rows::read_model_row_keys(config);
  keys.options.one_of = kContents;
  keys.options.may_have = {"completion", "completion_ids"};
  keys.options.keeps = {"id", "label"};
  return keys;
}

/// Refuses a key that has no effect and does not have its default value:
/// - teacher.num_draws, with teacher.targets=topk
/// - teacher.top_k, with teacher.targets=random_sampling
void refuse_useless_keys(const Config& config) {
  const bool has_draws = config.is("teacher.targets", "random_sampling");
  const auto refuse = [&](const char* name, std::int64_t standard, const char* other) {
    if (config.integer(name) == standard) return;
    throw config.problem(
        "E124", name,
        std::string(name) + " means nothing with teacher.targets=" + config.text("teacher.targets"),
        std::string("teacher.targets=") + other);
  };
  if (has_draws)
    refuse("teacher.top_k", kTopK, "topk");
  else
    refuse("teacher.num_draws", kDraws, "random_sampling");
}

}  // namespace

void add_teacher_keys(KeyTable& table) {
  table.add({.name = "teacher.targets",
             .type = KeyType::choice,
             .default_value = "topk",
             .summary = "what is kept of each token's distribution: the most probable tokens, or "
                        "tokens drawn from it, which are unbiased (RS-KD)",
             .choices = {"topk", "random_sampling"}});
  table.add({.name = "teacher.top_k",
             .type = KeyType::integer,
             .default_value = std::to_string(kTopK),
             .summary = "most probable tokens that are kept of each distribution",
             .min = 1,
             .max = 1024});
  table.add({.name = "teacher.num_draws",
             .type = KeyType::integer,
             .default_value = std::to_string(kDraws),
             .summary = "tokens that are drawn from each distribution, with replacement",
             .min = 1,
             .max = 255});
  table.add({.name = "teacher.temperature",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "divides logits before anything is kept of them",
             .min = 1e-2,
             .max = 1e2});
  table.add({.name = "teacher.store",
             .type = KeyType::choice,
             .default_value = "fp16",
             .summary =
                 "how targets are stored: ids of 4 bytes, or of as many bits as the vocabulary "
                 "needs; log-probabilities as float16 in both",
             .choices = {"fp16", "packed"}});
  table.add({.name = "teacher.batch_size",
             .type = KeyType::integer,
             .default_value = "16",
             .summary = "samples that a model has in memory at once; on a CPU, it changes time "
                        "and memory only; auto: as many as all ranks have memory for",
             .unit = "samples",
             .min = 1,
             .max = 65536,
             .choices = {"auto"},
             .identity = false});
}

void check_teacher_keys(const Config& config) {
  check_all(
      {[&] {
         rows::check_model_keys(
             config,
             "data.path=FILE, with a `text`, `prompt` and `completion`, or `messages` in each row");
       },
       [&] { refuse_useless_keys(config); }});
}

TeacherConfig read_teacher_config(const Config& config) {
  TeacherConfig result;
  result.run = run::read_job_keys(config);
  result.rows = read_rows(config);
  result.length = rows::read_length_keys(config);
  result.has_draws = config.is("teacher.targets", "random_sampling");
  result.top_k = config.integer("teacher.top_k");
  result.num_draws = config.integer("teacher.num_draws");
  result.temperature = config.number("teacher.temperature");
  result.is_packed = config.is("teacher.store", "packed");
  if (!config.is("teacher.batch_size", "auto"))
    result.batch_size = config.integer("teacher.batch_size");
  return result;
}

std::string targets_text(const TeacherConfig& config) {
  std::string text = config.has_draws ? std::to_string(config.num_draws) + " draws"
                                      : "top " + std::to_string(config.top_k);
  if (config.temperature != 1.0) text += report::text_of(", temperature %g", config.temperature);
  return text + (config.is_packed ? ", packed" : ", float16");
}

}  // namespace mgpu::jobs
