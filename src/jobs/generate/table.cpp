#include "table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include <mgpu/base/estimate.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/store/results/columns.hpp>

#include "answers.hpp"
#include "search_choice.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::array kFinishNames = {"stop_token", "stop_string", "length",
                                     "context",    "scored",      "none"};

/// A completion of a prompt. The objects that the pointers refer to must outlive this object.
struct CompletionRow {
  std::int64_t prompt_index = 0;
  std::int32_t sample = 0;
  const rows::EncodedPrompt* prompt = nullptr;
  const CompletedPrompt* completed = nullptr;
  const lm::Completion* completion = nullptr;    // nullptr: no completion
  const rows::PromptEncoder* encoder = nullptr;  // decodes the completion
  double reward = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> parts{};  // rewards without weights; empty without a completion
  std::string answer{};         // the answer that the completion gives; "" for none
  std::int32_t same_as = -1;    // first completion of the prompt with an equal answer; -1: none
  CompletionScore searched{};   // score for generate.search
  bool is_chosen = false;       // whether generate.search chooses this completion
};

using Columns = store::Columns<CompletionRow>;

Finish finish_of(const CompletionRow& row) {
  if (row.completed->facts.status != rows::RowStatus::ok) return Finish::none;
  if (row.completion == nullptr) return Finish::scored;
  switch (row.completion->reason) {
    case lm::FinishReason::stop_id:
      return Finish::stop_token;
    case lm::FinishReason::stop_text:
      return Finish::stop_string;
    case lm::FinishReason::length:
      return Finish::length;
    case lm::FinishReason::context:
      break;
  }
  return Finish::context;
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& ids) {
  return {ids.begin(), ids.end()};
}

/// Returns the token ids of the prompt, without the beginning of the completion that
/// generate.roll_in has appended.
std::vector<std::int64_t> prompt_ids_of(const CompletionRow& row) {
  const std::vector<std::int64_t>& ids = row.prompt->ids;
  return {ids.begin(), ids.end() - row.prompt->begun};
}

double sum_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

const lm::Completion& completion_of(const CompletionRow& row) {
  static const lm::Completion kNone;
  return row.completion == nullptr ? kNone : *row.completion;
}

/// Returns one log-probability for each token of the prompt; NaN for the first token, which the
/// model does not predict. Returns an empty list for a row that was left out.
std::vector<float> scored_prompt(const CompletionRow& row) {
  if (row.completed->facts.status != rows::RowStatus::ok) return {};
  std::vector<float> log_probs{std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float>& scored = row.completed->result.prompt_log_probs;
  log_probs.insert(log_probs.end(), scored.begin(), scored.end());
  return log_probs;
}

std::string output_of(const CompletionRow& row) {
  return row.completion == nullptr ? "" : row.encoder->decode(row.completion->ids);
}

void add_prompt_columns(Columns& columns, bool has_log_probs) {
  using Row = CompletionRow;
  columns.add({"prompt_log_prob",
               "sum over the prompt's tokens but the first; 0 where it was not scored", "nats"},
              [](const Row& row) { return sum_of(row.completed->result.prompt_log_probs); });
  columns.add({"prompt_ids", "token ids of the prompt"},
              [](const Row& row) { return narrow(prompt_ids_of(row)); });
  if (has_log_probs)
    columns.add({"prompt_log_probs",
                 "log-probability of each token after those before it; NaN at the first", "nats"},
                scored_prompt);
  columns.add({"prompt", "as the model saw it, special tokens of `prompt` rows left out"},
              [](const Row& row) { return row.prompt->text; });
}

void add_output_columns(Columns& columns) {
  using Row = CompletionRow;
  columns.add({"output_log_prob", "sum over the completion's tokens", "nats"},
              [](const Row& row) { return sum_of(completion_of(row).log_probs); });
  columns.add({"output_ids", "token ids of the completion"},
              [](const Row& row) { return narrow(completion_of(row).ids); });
  columns.add(
      {"output_log_probs",
       "log-probability of each under the model itself: no temperature, penalty or cut", "nats"},
      [](const Row& row) { return completion_of(row).log_probs; });
  columns.add({"output", "text of the completion without special tokens"}, output_of);
}

/// Adds a column with the score that the data set of the prompts gives to each answer.
void add_score(Columns& columns, const GenerateInputs& inputs) {
  using Row = CompletionRow;
  const datasets::DatasetRows& from = *inputs.keys.rows.dataset;
  const std::int64_t start = inputs.keys.rows.options.start;
  columns.add(
      {"score", "quality of the answer by the data set, from 0 to 1; NaN without an answer"},
      [from, start](const Row& row) {
        if (row.completion == nullptr) return std::numeric_limits<double>::quiet_NaN();
        const std::string text = output_of(row);
        return from.dataset->score(from.split, start + row.prompt_index,
                                   {text, row.completion->ids});
      });
}

/// Adds a column for the weighted sum of the rewards, and one for each reward.
void add_rewards(Columns& columns, const rewards::RewardSettings& settings) {
  using Row = CompletionRow;
  columns.add({"reward", "weighted sum of the rewards; NaN without a completion or a score"},
              [](const Row& row) { return row.reward; });
  for (std::size_t r = 0; r < settings.names.size(); ++r)
    columns.add({"reward_" + settings.names[r],
                 "this reward, without its weight; NaN without a completion or a score"},
                [r](const Row& row) {
                  return row.parts.empty() ? std::numeric_limits<double>::quiet_NaN()
                                           : row.parts[r];
                });
}

/// Returns CompletedPrompt::divergences of the completion, one value for each token.
std::vector<double> divergences_of(const CompletionRow& row) {
  const auto& all = row.completed->divergences;
  if (row.completion == nullptr || all.empty()) return {};
  return all[static_cast<std::size_t>(row.sample)];
}

/// Adds columns for the KL divergence that CompletedPrompt::divergences defines. With
/// `has_reference`, it compares the model with generate.reference. Otherwise it compares guided
/// sampling with model.path.
void add_kl_columns(Columns& columns, bool has_reference) {
  using Row = CompletionRow;
  const std::string from = has_reference ? "KL from the reference" : "KL of the guided draws";
  columns.add({"kl", "mean over the completion's tokens of the " + from + "; NaN: none", "nats"},
              [](const Row& row) { return estimate_mean(divergences_of(row)).mean; });
  columns.add(
      {"output_kl", from + " at each token, over the whole vocabulary at the sampling temperature",
       "nats"},
      [](const Row& row) {
        const std::vector<double> values = divergences_of(row);
        return std::vector<float>(values.begin(), values.end());
      });
}

/// Adds columns for the answer that each completion gives, and for the first completion of the same
/// prompt with an equal answer.
void add_answer_columns(Columns& columns) {
  using Row = CompletionRow;
  columns.add({"answer", "answer that the completion gives; empty: none"},
              [](const Row& row) { return row.answer; });
  columns.add({"same_as", "first completion of the prompt with an equal answer; -1: no answer"},
              [](const Row& row) { return row.same_as; });
}

/// Finds the answers of all rows. Each prompt has generate.num_samples adjacent rows.
void find_answers(std::vector<CompletionRow>& rows, const GenerateInputs& inputs) {
  const datasets::Dataset* dataset =
      inputs.has_scores() ? inputs.keys.rows.dataset->dataset.get() : nullptr;
  const auto num_samples = static_cast<std::size_t>(inputs.config.num_samples);
  for (std::size_t first = 0; first < rows.size(); first += num_samples) {
    if (rows[first].completion == nullptr) continue;
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < num_samples; ++i)
      outputs.push_back(output_of(rows[first + i]));
    std::vector<datasets::Answer> completions;
    for (std::size_t i = 0; i < num_samples; ++i)
      completions.push_back({outputs[i], completion_of(rows[first + i]).ids});
    const SampleAnswers answers = answers_of(dataset, completions);
    for (std::size_t i = 0; i < num_samples; ++i) {
      rows[first + i].answer = answers.texts[i];
      rows[first + i].same_as = answers.same_as[i];
    }
  }
}

/// Adds columns for the scores of generate.search, and for the completion that the search chooses.
void add_search_columns(Columns& columns) {
  using Row = CompletionRow;
  columns.add({"search_score", "score by generate.reward.path, from 0 to 1; NaN: no score"},
              [](const Row& row) { return row.searched.score; });
  columns.add({"step_scores",
               "probability of each step to be right; empty if whole completions are scored"},
              [](const Row& row) { return row.searched.steps; });
  columns.add({"chosen", "1: the completion that generate.search chooses for its prompt"},
              [](const Row& row) -> std::uint8_t { return row.is_chosen ? 1 : 0; });
}

/// Scores the rows whose completion has tokens, and marks the row that generate.search chooses for
/// each prompt.
void search_rows(std::vector<CompletionRow>& rows, const GenerateInputs& inputs,
                 CompletionScorer& scorer) {
  std::vector<std::vector<std::int64_t>> prompts;  // token ids
  std::vector<SearchedCompletion> searched;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].completion == nullptr || rows[i].completion->ids.empty()) continue;
    prompts.push_back(prompt_ids_of(rows[i]));
    places.push_back(i);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CompletionRow& row = rows[places[i]];
    searched.push_back({row.prompt, prompts[i], row.completion->ids, output_of(row)});
  }
  std::vector<CompletionScore> scores = scorer.score(searched);
  for (std::size_t i = 0; i < places.size(); ++i)
    rows[places[i]].searched = std::move(scores[i]);
  const auto num_samples = static_cast<std::size_t>(inputs.config.num_samples);
  for (std::size_t first = 0; first < rows.size(); first += num_samples) {
    if (rows[first].completion == nullptr) continue;
    std::vector<double> of_prompt;
    std::vector<std::int32_t> same_as;
    for (std::size_t i = first; i < first + num_samples; ++i) {
      of_prompt.push_back(rows[i].searched.score);
      same_as.push_back(rows[i].same_as);
    }
    if (const auto chosen = chosen_of(inputs.keys.search->kind, of_prompt, same_as))
      rows[first + *chosen].is_chosen = true;
  }
}

/// Computes the rewards of the rows that have a completion.
void judge(std::vector<CompletionRow>& rows, rewards::WeightedRewards& rewards) {
  std::vector<std::size_t> places;
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].completion == nullptr) continue;
    places.push_back(i);
    outputs.push_back(output_of(rows[i]));
  }
  std::vector<rewards::RewardRow> judged;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const rows::EncodedPrompt& prompt = *rows[places[i]].prompt;
    judged.push_back({prompt.text, outputs[i], prompt.answer, prompt.messages});
  }
  const rewards::Scores scores = rewards.score(judged);
  for (std::size_t i = 0; i < places.size(); ++i) {
    rows[places[i]].reward = scores.total[i];
    for (const std::vector<double>& part : scores.parts)
      rows[places[i]].parts.push_back(part[i]);
  }
}

Columns columns_of(const GenerateInputs& inputs) {
  using Row = CompletionRow;
  Columns columns;
  columns.add({"prompt_index", "line of the prompt in the input, from 0"},
              [](const Row& row) { return row.prompt_index; });
  columns.add({"sample", "which completion of its prompt, from 0"},
              [](const Row& row) { return row.sample; });
  columns.add({"n_prompt_tokens", "length of the prompt", "tokens"},
              [](const Row& row) { return static_cast<std::int32_t>(prompt_ids_of(row).size()); });
  columns.add({"n_output_tokens", "length of the completion", "tokens"}, [](const Row& row) {
    return static_cast<std::int32_t>(completion_of(row).ids.size());
  });
  columns.add_code({"finish", "what ended the completion"},
                   {kFinishNames.begin(), kFinishNames.end()}, finish_of);
  add_prompt_columns(columns, inputs.config.generation.scores_prompts);
  add_output_columns(columns);
  if (inputs.keys.rolls_in)
    columns.add(
        {"cut", "first tokens of the completion that another policy chose, but the last", "tokens"},
        [](const Row& row) {
          return static_cast<std::int32_t>(std::max<std::int64_t>(row.prompt->begun - 1, 0));
        });
  if (inputs.has_scores()) add_score(columns, inputs);
  if (inputs.has_answers()) add_answer_columns(columns);
  if (inputs.keys.search) add_search_columns(columns);
  if (inputs.keys.rewards.is_given()) add_rewards(columns, inputs.keys.rewards);
  if (inputs.keys.has_divergence()) add_kl_columns(columns, inputs.keys.has_reference());
  rows::add_row_columns(columns, inputs.kept.names(), [](const Row& row) -> const rows::RowFacts& {
    return row.completed->facts;
  });
  return columns;
}

}  // namespace

const char* name_of(Finish finish) {
  return kFinishNames.at(static_cast<std::size_t>(finish));
}

store::TableSpec completion_table(const GenerateInputs& inputs) {
  return columns_of(inputs).table("samples", inputs.samples());
}

std::vector<std::byte> completion_rows(const GenerateInputs& inputs, std::int64_t first,
                                       std::span<const rows::EncodedPrompt> prompts,
                                       std::span<const CompletedPrompt> completed,
                                       const rows::PromptEncoder& encoder,
                                       const RowJudges& judges) {
  const std::int64_t num_samples = inputs.config.num_samples;
  std::vector<CompletionRow> rows;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<lm::Completion>& completions = completed[i].result.completions;
    for (std::int64_t s = 0; s < num_samples; ++s)
      rows.push_back(
          {first + static_cast<std::int64_t>(i), static_cast<std::int32_t>(s), &prompts[i],
           &completed[i],
           s < std::ssize(completions) ? &completions[static_cast<std::size_t>(s)] : nullptr,
           &encoder});
  }
  if (inputs.has_answers()) find_answers(rows, inputs);
  if (judges.rewards != nullptr) judge(rows, *judges.rewards);
  if (judges.scorer != nullptr) search_rows(rows, inputs, *judges.scorer);
  const Columns columns = columns_of(inputs);
  return columns.encode(columns.table("samples", inputs.samples()), first * num_samples, rows);
}

}  // namespace mgpu::jobs
