#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// The lists in a row of table `samples`. The lists `steps`, `answers` and `path_right` have an
/// item for each path. The other lists have an item for each node of the tree.
struct PtRow {
  std::vector<std::int32_t> path{};
  std::vector<std::int32_t> step{};
  std::vector<std::int32_t> parent{};
  std::vector<double> value{};
  std::vector<double> error{};
  std::vector<std::int32_t> visits{};
  std::vector<std::int32_t> right{};
  std::vector<std::int32_t> agent{};              // empty: the run has no agents
  std::vector<double> score{};                    // empty: the run has no agents
  std::vector<std::vector<std::string>> steps{};  // texts of the steps of each path
  std::vector<std::string> answers{};             // answer of each path
  std::vector<std::uint8_t> path_right{};
};

/// The columns of table `samples` from which --export pt makes questions. `votes`, `agent_of` and
/// `scores` are nullopt if the run has no agents. `latent_steps` and `latents` are nullopt if the
/// run has stored no latent states.
/// Ranks:  local.
class PtColumns {
public:
  using Lists = store::ListColumn;

  /// `file` is results.h5 of a run, and `agents` are the settings of this run.
  /// Errors: Failure E603 (missing, exit 66), E605 (columns are missing, exit 65), E604 (the bytes
  ///         are not those written, exit 80).
  PtColumns(const std::filesystem::path& file, const AgentKeys& agents);

  /// Returns the lists of a row.
  /// Errors: Failure E605 or formats::JsonError if a list cannot be read.
  PtRow read(std::int64_t row) const;

  store::ReadTable numbers;
  store::TextColumn prompts;
  store::TextColumn gold_answers;
  store::TextColumn answers;
  store::TextColumn steps;
  Lists path_right;
  Lists node_path;
  Lists node_step;
  Lists parents;
  Lists values;
  Lists errors;
  Lists visits;
  Lists right;
  std::optional<store::TextColumn> votes{};
  std::optional<Lists> agent_of{};
  std::optional<Lists> scores{};
  std::optional<Lists> latent_steps{};
  std::optional<Lists> latents{};

private:
  void check() const;
};

/// Returns the values of the list in row `row` of a column.
template <class T>
std::vector<T> values_in(const store::ListColumn& column, std::int64_t row) {
  const store::ReadLists lists = column.read(row, 1);
  const std::span<const T> values = lists.row<T>(0);
  return {values.begin(), values.end()};
}

}  // namespace mgpu::jobs
