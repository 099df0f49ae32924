#include "pairs.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

bool has_column(const store::ReadTable& table, const std::string& name) {
  for (const store::ReadColumn& column : table.columns)
    if (column.spec.name == name) return true;
  return false;
}

/// Returns the returns of all completions. Errors: Failure E143 if the run did not record them.
std::span<const double> returns_of(const store::ReadTable& samples,
                                   const run::ExportRequest& request) {
  for (const char* name : {"reward", "score"})
    if (has_column(samples, name)) return samples.column(name).values<double>();
  throw Failure({"E143",
                 ExitCode::usage,
                 "the run has no rewards by which completions could be chosen",
                 {"  --> " + request.results.string()},
                 "run it with reward.functions, or with a data set that checks answers"});
}

/// Writes pairs as JSON lines.
class PairWriter {
public:
  explicit PairWriter(const run::ExportRequest& request)
      : request_(request),
        prompts_(request.results, "samples", "prompt"),
        outputs_(request.results, "samples", "output"),
        file_(request.out, std::ios::binary) {
    prompts_.check_bytes();
    outputs_.check_bytes();
    if (prompts_.rows() > 0) prompt_of(0);
  }

  void add(const CompletionPair& pair, std::span<const double> returns) {
    const auto return_of = [&](std::int64_t row) { return returns[static_cast<std::size_t>(row)]; };
    const JsonValue line(JsonValue::Members{{"prompt", prompt_of(pair.chosen)},
                                            {"chosen", outputs_.read(pair.chosen, 1).at(0)},
                                            {"rejected", outputs_.read(pair.rejected, 1).at(0)},
                                            {"score_chosen", return_of(pair.chosen)},
                                            {"score_rejected", return_of(pair.rejected)}});
    file_ << formats::to_json_line(line, formats::BadUtf8::replace) << '\n';
  }

  void close() {
    file_.close();
    if (!file_)
      throw Failure(
          {"E602", ExitCode::io, "cannot write the pairs", {"  --> " + request_.out.string()}, ""});
  }

private:
  /// Returns the text of a row's prompt. Errors: Failure E143 if the prompt has no text.
  std::string prompt_of(std::int64_t row) const {
    std::string prompt = prompts_.read(row, 1).at(0);
    if (!prompt.empty()) return prompt;
    throw Failure({"E143",
                   ExitCode::usage,
                   "the prompts have no text: they were given as token ids",
                   {"  --> " + request_.results.string()},
                   "--export jsonl has the token ids"});
  }

  const run::ExportRequest& request_;
  store::TextColumn prompts_;
  store::TextColumn outputs_;
  std::ofstream file_;
};

}  // namespace

std::vector<CompletionPair> best_and_worst(std::span<const std::int64_t> prompts,
                                           std::span<const double> returns) {
  std::vector<CompletionPair> pairs;
  for (std::size_t first = 0; first < prompts.size();) {
    std::size_t end = first;
    std::size_t best = prompts.size();
    std::size_t worst = prompts.size();
    for (; end < prompts.size() && prompts[end] == prompts[first]; ++end) {
      if (std::isnan(returns[end])) continue;
      if (best == prompts.size() || returns[end] > returns[best]) best = end;
      if (worst == prompts.size() || returns[end] < returns[worst]) worst = end;
    }
    first = end;
    if (best == prompts.size() || returns[best] == returns[worst]) continue;
    pairs.push_back({static_cast<std::int64_t>(best), static_cast<std::int64_t>(worst)});
  }
  return pairs;
}

std::int64_t export_pairs(const run::ExportRequest& request) {
  const store::ReadTable samples = store::read_table(request.results, "samples");
  const std::span<const double> returns = returns_of(samples, request);
  const auto pairs = best_and_worst(samples.column("prompt_index").values<std::int64_t>(), returns);
  PairWriter writer(request);
  for (const CompletionPair& pair : pairs)
    writer.add(pair, returns);
  writer.close();
  return std::ssize(pairs);
}

}  // namespace mgpu::jobs
