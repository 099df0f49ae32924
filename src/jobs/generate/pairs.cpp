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

#include "keys.hpp"
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
        ids_(store::read_lists(request.results, "samples", "prompt_ids")),
        outputs_(store::read_lists(request.results, "samples", "output_ids")) {
    texts_.check_bytes();
    const std::filesystem::path folder = rows::read_model_row_keys(request.config).folder;
    tokenizer_ = rows::parse_tokenizer_files(rows::read_tokenizer_files(folder, {}), folder,
                                             lm::read_lm_config(folder).vocab);
  }

  /// Returns the prompt of a row. For a prompt of token ids, it is the text without special tokens.
  /// Errors: Failure E143 if recipes would tokenize the text to other tokens, or if the model's
  ///         folder has no tokenizer.
  std::string of_row(std::int64_t row) const {
    const auto ids = ids_.row<std::int32_t>(row);
    const auto fits = [&](const std::string& text) {
      return std::ranges::equal(tokenizer_->tokenizer.encode(text, true), ids);
    };
    if (!tokenizer_)
      throw refusal(request_, "the folder of model.path has no tokenizer, and pairs are texts",
                    "--export jsonl has the token ids and rewards of all completions");
    std::string text = texts_.read(row, 1).at(0);
    if (fits(text)) return text;
    text = tokenizer_->tokenizer.decode(ids, true);
    if (fits(text)) return text;
    throw refusal(request_,
                  "recipes would turn the prompt of row " + std::to_string(row) +
                      " into other tokens than this run, for example because of "
                      "generate.add_special_tokens=false or of messages",
                  "--export jsonl has the token ids, texts and rewards of all completions");
  }

  /// Returns how many tokens at the beginning of the row's completion stay the same if recipes
  /// tokenize `text`, the prompt with the completion. Returns 0 if the prompt's tokens change.
  std::int64_t kept_tokens(std::int64_t row, const std::string& text) const {
    const auto prompt = ids_.row<std::int32_t>(row);
    const auto output = outputs_.row<std::int32_t>(row);
    const auto ids = tokenizer_->tokenizer.encode(text, true);
    const auto rest = std::span(ids).subspan(std::min(prompt.size(), ids.size()));
    if (!std::ranges::equal(std::span(ids).first(ids.size() - rest.size()), prompt)) return 0;
    return std::ranges::mismatch(rest, output).in1 - rest.begin();
  }

private:
  const run::ExportRequest& request_;
  store::TextColumn texts_;
  store::ReadLists ids_;
  store::ReadLists outputs_;
  std::optional<text::TextFolder> tokenizer_;
};

/// Makes the JSON lines of pairs.
class PairWriter {
public:
  PairWriter(const run::ExportRequest& request, const store::ReadTable& samples,
             const store::TextColumn& outputs, std::span<const double> returns)
      : prompts_(request), outputs_(outputs), returns_(returns) {
    if (const store::ReadColumn* cuts = find_column(samples, "cut"))
      cuts_ = cuts->values<std::int32_t>();
  }

  /// Returns the line of a pair. Returns nullopt if both completions have the same text.
  std::optional<std::string> line_of(const CompletionPair& pair) const {
    const std::string prompt = prompts_.of_row(pair.chosen);
    const std::string chosen = outputs_.read(pair.chosen, 1).at(0);
    const std::string rejected = outputs_.read(pair.rejected, 1).at(0);
    if (chosen == rejected) return std::nullopt;
    JsonValue::Members line{{"prompt", prompt},
                            {"chosen", chosen},
                            {"rejected", rejected},
                            {"score_chosen", return_of(pair.chosen)},
                            {"score_rejected", return_of(pair.rejected)}};
    if (!cuts_.empty())
      line.emplace_back("cut", std::min({std::int64_t{cuts_[static_cast<std::size_t>(pair.chosen)]},
                                         prompts_.kept_tokens(pair.chosen, prompt + chosen),
                                         prompts_.kept_tokens(pair.rejected, prompt + rejected)}));
    return formats::to_json_line(line, formats::BadUtf8::replace);
  }

private:
  double return_of(std::int64_t row) const { return returns_[static_cast<std::size_t>(row)]; }

  PromptTexts prompts_;
  const store::TextColumn& outputs_;
  std::span<const double> returns_;
  std::span<const std::int32_t> cuts_{};  // column `cut`; empty: the run did not cut completions
};

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

std::vector<CompletionPair> first_and_others(std::span<const std::int64_t> prompts,
                                             std::span<const double> returns, bool has_ties) {
  std::vector<CompletionPair> pairs;
  for (const RowRange& range : ranges_of(prompts)) {
    const double first = returns[range.first];
    if (std::isnan(first)) continue;
    for (std::size_t row = range.first + 1; row < range.first + range.count; ++row) {
      if (std::isnan(returns[row]) || (returns[row] == first && !has_ties)) continue;
      const auto one = static_cast<std::int64_t>(range.first);
      const auto other = static_cast<std::int64_t>(row);
      pairs.push_back(returns[row] > first ? CompletionPair{other, one}
                                           : CompletionPair{one, other});
    }
  }
  return pairs;
}

std::int64_t export_pairs(const run::ExportRequest& request) {
  const store::ReadTable samples = store::read_table(request.results, "samples");
  const std::span<const double> returns = returns_of(samples, request);
  const store::TextColumn outputs(request.results, "samples", "output");
  outputs.check_bytes();
  const auto prompts = samples.column("prompt_index").values<std::int64_t>();
  const GenerateKeys keys = read_generate_keys(request.config);
  const std::vector<double> usable = without_empty(returns, outputs);
  const auto pairs = keys.first_greedy ? first_and_others(prompts, usable, keys.export_ties)
                                       : best_and_worst(prompts, usable);
  std::vector<std::string> lines;
  if (!pairs.empty()) {
    const PairWriter writer(request, samples, outputs, returns);
    for (const CompletionPair& pair : pairs)
      if (const std::optional<std::string> line = writer.line_of(pair)) lines.push_back(*line);
  }
  if (lines.empty() && keys.first_greedy)
    throw refusal(request,
                  "no drawn completion has another text and another reward than the greedy one",
                  keys.export_ties ? "sample more completions: generate.num_samples=8"
                                   : "generate.export_ties=true keeps equal rewards");
  if (lines.empty())
    throw refusal(request, "no prompt has two completions with text and different rewards",
                  "sample more completions: generate.do_sample=true generate.num_samples=8");
  std::ofstream file(request.out, std::ios::binary);
  for (const std::string& line : lines)
    file << line << '\n';
  file.close();
  if (file) return std::ssize(lines);
  throw Failure(
      {"E602", ExitCode::io, "cannot write the pairs", {"  --> " + request.out.string()}, ""});
}

}  // namespace mgpu::jobs
