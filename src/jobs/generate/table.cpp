#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include <mgpu/store/journal/chunk_payload.hpp>

#include "completions.hpp"

namespace mgpu::jobs {
namespace {

using store::ColumnType;

constexpr std::array kFinishNames = {"stop_token", "stop_string", "length",
                                     "context",    "scored",      "failed"};

Finish finish_of(lm::FinishReason reason) {
  switch (reason) {
    case lm::FinishReason::stop_id:
      return Finish::stop_token;
    case lm::FinishReason::stop_text:
      return Finish::stop_string;
    case lm::FinishReason::length:
      return Finish::length;
    case lm::FinishReason::context:
      return Finish::context;
  }
  return Finish::failed;
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& ids) {
  std::vector<std::int32_t> narrowed;
  for (const std::int64_t id : ids)
    narrowed.push_back(static_cast<std::int32_t>(id));
  return narrowed;
}

double sum_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool has_column(const store::TableSpec& spec, std::string_view name) {
  return std::any_of(spec.columns.begin(), spec.columns.end(),
                     [&](const store::ColumnSpec& column) { return column.name == name; });
}

/// The columns of some rows while they are made.
class RowBuilder {
public:
  explicit RowBuilder(const rows::PromptEncoder& encoder) : encoder_(encoder) {}

  void add(std::int64_t id, const rows::EncodedPrompt& prompt, const CompletedPrompt& completed,
           std::int64_t num_samples) {
    const bool has_failed = !completed.failure.empty();
    const auto& completions = completed.result.completions;
    for (std::int64_t s = 0; s < num_samples; ++s) {
      const bool is_complete = static_cast<std::size_t>(s) < completions.size();
      prompt_index_.push_back(id);
      sample_.push_back(static_cast<std::int32_t>(s));
      add_prompt(prompt, completed);
      if (is_complete) {
        add_completion(completions[static_cast<std::size_t>(s)]);
      } else {
        add_without_completion(has_failed ? Finish::failed : Finish::scored, completed.failure);
      }
    }
  }

  std::vector<std::byte> encode(const store::TableSpec& spec, std::int64_t first_row) const {
    store::ChunkEncoder rows(spec, first_row, std::ssize(finish_));
    rows.column("prompt_index", std::span<const std::int64_t>(prompt_index_));
    rows.column("sample", std::span<const std::int32_t>(sample_));
    rows.column("n_prompt_tokens", std::span<const std::int32_t>(prompt_tokens_));
    rows.column("n_output_tokens", std::span<const std::int32_t>(output_tokens_));
    rows.column("finish", std::span<const std::uint8_t>(finish_));
    rows.column("prompt_log_prob", std::span<const double>(prompt_log_prob_));
    rows.column("output_log_prob", std::span<const double>(output_log_prob_));
    rows.lists("prompt_ids", std::span<const std::vector<std::int32_t>>(prompt_ids_));
    if (has_column(spec, "prompt_log_probs"))
      rows.lists("prompt_log_probs", std::span<const std::vector<float>>(prompt_log_probs_));
    rows.lists("output_ids", std::span<const std::vector<std::int32_t>>(output_ids_));
    rows.lists("output_log_probs", std::span<const std::vector<float>>(output_log_probs_));
    rows.text("prompt", prompt_);
    rows.text("output", output_);
    rows.text("reason", reason_);
    return rows.finish();
  }

private:
  void add_prompt(const rows::EncodedPrompt& prompt, const CompletedPrompt& completed) {
    prompt_tokens_.push_back(static_cast<std::int32_t>(prompt.ids.size()));
    prompt_ids_.push_back(narrow(prompt.ids));
    prompt_log_prob_.push_back(sum_of(completed.result.prompt_log_probs));
    prompt_log_probs_.push_back(scored_prompt(completed));
    prompt_.push_back(prompt.text);
  }

  void add_completion(const lm::Completion& completion) {
    const Finish finish = finish_of(completion.reason);
    output_tokens_.push_back(static_cast<std::int32_t>(completion.ids.size()));
    output_ids_.push_back(narrow(completion.ids));
    output_log_probs_.push_back(completion.log_probs);
    output_log_prob_.push_back(sum_of(completion.log_probs));
    output_.push_back(encoder_.decode(completion.ids));
    finish_.push_back(static_cast<std::uint8_t>(finish));
    reason_.emplace_back(name_of(finish));
  }

  void add_without_completion(Finish finish, const std::string& failure) {
    output_tokens_.push_back(0);
    output_ids_.emplace_back();
    output_log_probs_.emplace_back();
    output_log_prob_.push_back(0.0);
    output_.emplace_back();
    finish_.push_back(static_cast<std::uint8_t>(finish));
    reason_.push_back(name_of(finish) + (failure.empty() ? "" : ": " + failure));
  }

  /// A value for each token: nothing predicts the first one.
  static std::vector<float> scored_prompt(const CompletedPrompt& completed) {
    if (!completed.failure.empty()) return {};
    std::vector<float> log_probs{std::numeric_limits<float>::quiet_NaN()};
    const std::vector<float>& scored = completed.result.prompt_log_probs;
    log_probs.insert(log_probs.end(), scored.begin(), scored.end());
    return log_probs;
  }

  const rows::PromptEncoder& encoder_;
  std::vector<std::int64_t> prompt_index_;
  std::vector<std::int32_t> sample_;
  std::vector<std::int32_t> prompt_tokens_;
  std::vector<std::int32_t> output_tokens_;
  std::vector<std::uint8_t> finish_;
  std::vector<double> prompt_log_prob_;
  std::vector<double> output_log_prob_;
  std::vector<std::vector<std::int32_t>> prompt_ids_;
  std::vector<std::vector<float>> prompt_log_probs_;
  std::vector<std::vector<std::int32_t>> output_ids_;
  std::vector<std::vector<float>> output_log_probs_;
  std::vector<std::string> prompt_;
  std::vector<std::string> output_;
  std::vector<std::string> reason_;
};

}  // namespace

const char* name_of(Finish finish) {
  return kFinishNames.at(static_cast<std::size_t>(finish));
}

store::TableSpec completion_table(std::int64_t prompts, const GenerateConfig& config) {
  store::TableSpec spec{
      .path = "samples",
      .rows = prompts * config.num_samples,
      .columns =
          {{"prompt_index", ColumnType::i64, 1, "line of the prompt in the input, from 0", ""},
           {"sample", ColumnType::i32, 1, "which completion of its prompt, from 0", ""},
           {"n_prompt_tokens", ColumnType::i32, 1, "length of the prompt", "tokens"},
           {"n_output_tokens", ColumnType::i32, 1, "length of the completion", "tokens"},
           {"finish", ColumnType::u8, 1,
            "what ended it: 0 stop token, 1 stop string, 2 max_new_tokens, 3 the model's context, "
            "4 it was only scored, 5 it failed",
            ""},
           {"prompt_log_prob", ColumnType::f64, 1,
            "sum over the prompt's tokens but the first; 0 where it was not scored", "nats"},
           {"output_log_prob", ColumnType::f64, 1, "sum over the completion's tokens", "nats"},
           {"prompt_ids", ColumnType::i32, 1, "token ids of the prompt", "", true}},
      .signal = "",
      .axis = ""};
  if (config.generation.scores_prompts)
    spec.columns.push_back({"prompt_log_probs", ColumnType::f32, 1,
                            "log-probability of each token after those before it; NaN at the first",
                            "nats", true});
  spec.columns.insert(
      spec.columns.end(),
      {{"output_ids", ColumnType::i32, 1, "token ids of the completion", "", true},
       {"output_log_probs", ColumnType::f32, 1,
        "log-probability of each under the model itself: no temperature, penalty or cut", "nats",
        true},
       {"prompt", ColumnType::text, 1,
        "as the model saw it, special tokens of `prompt` rows left out", ""},
       {"output", ColumnType::text, 1, "text of the completion without special tokens", ""},
       {"reason", ColumnType::text, 1, "what ended it, in words", ""}});
  return spec;
}

std::vector<std::byte> completion_rows(const store::TableSpec& spec, std::int64_t first,
                                       std::span<const rows::EncodedPrompt> prompts,
                                       std::span<const CompletedPrompt> completed,
                                       std::int64_t num_samples,
                                       const rows::PromptEncoder& encoder) {
  RowBuilder rows(encoder);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    rows.add(first + static_cast<std::int64_t>(i), prompts[i], completed[i], num_samples);
  return rows.encode(spec, first * num_samples);
}

}  // namespace mgpu::jobs
