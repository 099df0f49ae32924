#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "keys.hpp"
#include "pt_columns.hpp"
#include "pt_question.hpp"

namespace mgpu::jobs {

/// Reads the questions of a result file of job collect, one at a time, with their agents and latent
/// states.
/// Ranks:  local.
class PtReader {
public:
  /// `keys` are the settings of the run. If the run has agents, the constructor also reads the file
  /// that collect.agents.path names.
  /// Errors: Failure E603 (missing, exit 66), E605 (columns are missing, exit 65), E604 (the bytes
  ///         are not those written, exit 80); those of read_agents().
  PtReader(const std::filesystem::path& results, const CollectKeys& keys);

  std::int64_t rows() const;

  /// Returns whether the question of a row has solutions.
  bool is_used(std::int64_t row) const;

  /// Returns the question of a row for which is_used() is true.
  /// Errors: Failure E605 (exit 65) if the lists of the row (PtRow) contradict each other, or
  ///         cannot be read.
  PtQuestion read(std::int64_t row) const;

private:
  PtNode node_of(const PtRow& row, std::size_t node) const;
  void add_solution(const PtRow& row, std::size_t node, PtNode& result) const;
  void add_latents(std::int64_t row, PtQuestion& question) const;
  void add_vote(std::int64_t row, const PtRow& read, PtQuestion& question) const;

  std::filesystem::path path_;
  CollectKeys keys_;
  std::vector<std::string> agents_;  // names; empty: the run has no agents
  PtColumns columns_;
};

}  // namespace mgpu::jobs
