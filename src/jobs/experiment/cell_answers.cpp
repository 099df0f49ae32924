#include "cell_answers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/read_texts.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "page.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kPrompts = 3;
/// The function read_answers() reads only this many rows of a result file. If each prompt has many
/// rows, these rows may contain fewer than kPrompts prompts.
constexpr std::int64_t kRowsRead = 256;
constexpr std::size_t kLongest = 300;  // characters of a shown text

/// Returns the first completion of each of the first kPrompts prompts. `results` is the result file
/// of the stage that generated the completions.
std::vector<CellAnswer> first_answers(const std::filesystem::path& results) {
  const auto prompts = store::read_texts(results, "samples", "prompt", 0, kRowsRead);
  const auto outputs = store::read_texts(results, "samples", "output", 0, kRowsRead);
  std::vector<CellAnswer> answers;
  for (std::size_t i = 0; i < prompts.size() && answers.size() < kPrompts; ++i)
    if (answers.empty() || answers.back().prompt != prompts[i])
      answers.push_back({prompts[i], outputs.at(i)});
  return answers;
}

/// Returns whether a result file has completions with the texts of their prompts.
bool has_completions(const std::filesystem::path& results) {
  const std::vector<std::string> columns = store::text_columns(results, "samples");
  const auto has = [&](const char* name) {
    return std::ranges::find(columns, name) != columns.end();
  };
  return has("prompt") && has("output");
}

}  // namespace

void read_answers(const StageGraph& graph, const std::vector<StageRecord>& records,
                  std::vector<CellResult>& cells) {
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].state != CellState::eval_completed) continue;
    const std::size_t stage = graph.cells[c].evaluation;
    const store::StoreConfig store = store::read_store_config(graph.stages[stage].config);
    const std::filesystem::path results =
        std::filesystem::path(records[stage].end.directory) / store.result_file;
    if (has_completions(results)) cells[c].answers = first_answers(results);
  }
}

report::Table answer_table(const std::vector<CellResult>& cells) {
  report::Table table{"First answers of each algorithm", {"prompt", "algorithm", "answer"}, {}};
  table.is_text = true;
  table.is_stacked = true;
  std::vector<std::string> prompts;
  for (const CellResult& cell : cells)
    for (const CellAnswer& answer : cell.answers)
      if (std::ranges::find(prompts, answer.prompt) == prompts.end())
        prompts.push_back(answer.prompt);
  for (const std::string& prompt : prompts)
    for (const CellResult& cell : cells)
      for (const CellAnswer& answer : cell.answers)
        if (answer.prompt == prompt)
          table.rows.push_back({report::clip(prompt, kLongest), row_of(cell),
                                report::clip(answer.output, kLongest)});
  return table;
}

}  // namespace mgpu::jobs
