#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "prompt_rows.hpp"

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

Failure refusal(const run::ExportRequest& request, std::string text, std::string help) {
  return Failure({"E143",
                  ExitCode::usage,
                  std::move(text),
                  {"  --> " + request.results.string()},
                  std::move(help)});
}

/// Returns the value of each completion in column `reward`, or in column `score` if there is no
/// `reward`. Errors: Failure E143 if the run recorded neither.
std::span<const double> returns_of(const store::ReadTable& samples,
                                   const run::ExportRequest& request) {
  for (const char* name : {"reward", "score"})
    if (const store::ReadColumn* column = find_column(samples, name))
      return column->values<double>();
  throw refusal(request, "the run has no rewards by which completions could be chosen",
                "run it with reward.functions, or with a data set that checks answers");
}

/// Returns `returns` with NaN for each empty completion.
std::vector<double> without_empty(std::span<const double> returns,
                                  const store::TextColumn& outputs) {
  constexpr std::int64_t kBlockRows = 4096;
  std::vector<double> result(returns.begin(), returns.end());
  for (std::int64_t first = 0; first < outputs.rows(); first += kBlockRows) {
    auto at = result.begin() + first;
    for (const std::string& output : outputs.read(first, kBlockRows)) {
      if (output.empty()) *at = std::numeric_limits<double>::quiet_NaN();
      ++at;
    }
  }
  return result;
}

/// Reads the prompts of a run. Checks that recipes of job train would tokenize the texts of these
/// prompts to the tokens that the run used.
class PromptTexts {
public:
  explicit PromptTexts(const run::ExportRequest& request)
      : request_(request),
        texts_(request.results, "samples", "prompt"),
        ids_(store::read_lists(request.results, "samples", "prompt_ids")) {
    texts_.check_bytes();
    const std::filesystem::path folder = rows::read_model_row_keys(request.config).folder;
    tokenizer_ = rows::parse_tokenizer_files(rows::read_tokenizer_files(folder, {}), folder,
                                             lm::read_lm_config(folder).vocab);
  }

  /// Returns the prompt of a row. Errors: Failure E143 if recipes would tokenize its text to other
  /// tokens, or if the model's folder has no tokenizer.
  std::string of_row(std::int64_t row) const {
    std::string text = texts_.read(row, 1).at(0);
    const auto ids = ids_.row<std::int32_t>(row);
    if (tokenizer_ && std::ranges::equal(tokenizer_->tokenizer.encode(text, true), ids))
      return text;
    throw refusal(request_,
                  "recipes would turn the prompt of row " + std::to_string(row) +
                      " into other tokens than this run: it was given as messages, as token ids, "
                      "or without special tokens",
                  "--export jsonl has the token ids, texts and rewards of all completions");
  }

private:
  const run::ExportRequest& request_;
  store::TextColumn texts_;
  store::ReadLists ids_;
  std::optional<text::TextFolder> tokenizer_;
};

JsonValue line_of(const CompletionPair& pair, std::string prompt, const store::TextColumn& outputs,
                  std::span<const double> returns) {
  const auto return_of = [&](std::int64_t row) { return returns[static_cast<std::size_t>(row)]; };
  return JsonValue::Members{{"prompt", std::move(prompt)},
                            {"chosen", outputs.read(pair.chosen, 1).at(0)},
                            {"rejected", outputs.read(pair.rejected, 1).at(0)},
                            {"score_chosen", return_of(pair.chosen)},
                            {"score_rejected", return_of(pair.rejected)}};
}

}  // namespace

std::vector<CompletionPair> best_and_worst(std::span<const std::int64_t> prompts,
                                           std::span<const double> returns) {
  std::vector<CompletionPair> pairs;
  for (const RowRange& range : ranges_of(prompts)) {
    std::vector<std::size_t> rows;
    for (std::size_t row = range.first; row < range.first + range.count; ++row)
      if (!std::isnan(returns[row])) rows.push_back(row);
    if (rows.empty()) continue;
    const auto return_of = [&](std::size_t row) { return returns[row]; };
    const std::size_t best = *std::ranges::max_element(rows, {}, return_of);
    const std::size_t worst = *std::ranges::min_element(rows, {}, return_of);
    if (returns[best] == returns[worst]) continue;
    pairs.push_back({static_cast<std::int64_t>(best), static_cast<std::int64_t>(worst)});
  }
  return pairs;
}

std::int64_t export_pairs(const run::ExportRequest& request) {
  const store::ReadTable samples = store::read_table(request.results, "samples");
  const std::span<const double> returns = returns_of(samples, request);
  const store::TextColumn outputs(request.results, "samples", "output");
  outputs.check_bytes();
  const auto pairs = best_and_worst(samples.column("prompt_index").values<std::int64_t>(),
                                    without_empty(returns, outputs));
  if (pairs.empty())
    throw refusal(request, "no prompt has two completions with text and different rewards",
                  "sample more completions: generate.do_sample=true generate.num_samples=8");
  const PromptTexts prompts(request);
  std::ofstream file(request.out, std::ios::binary);
  for (const CompletionPair& pair : pairs)
    file << formats::to_json_line(line_of(pair, prompts.of_row(pair.chosen), outputs, returns),
                                  formats::BadUtf8::replace)
         << '\n';
  file.close();
  if (file) return std::ssize(pairs);
  throw Failure(
      {"E602", ExitCode::io, "cannot write the pairs", {"  --> " + request.out.string()}, ""});
}

}  // namespace mgpu::jobs
