#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mgpu::jobs {

/// A node of a path in a result file. With omega_prm, the text of a node may have several steps.
struct ReadStep {
  std::string text{};
  double value = 0.0;
  double standard_error = 0.0;
  std::int32_t visits = 0;
  std::int32_t right = 0;
};

struct ReadPath {
  bool is_right = false;
  std::string answer{};  // answer of the solution; "": none
  std::vector<ReadStep> steps{};
};

/// A question that was read from a result file, with its solutions and the values of their steps.
struct ReadTree {
  std::string prompt{};
  std::vector<ReadPath> paths{};  // empty if the question could not be used

  std::int64_t right_paths() const;
};

/// Reads the trees of a result file of job collect, one at a time, and checks the lists of each
/// row.
/// Ranks:  local.
class TreeReader {
public:
  /// Errors: Failure E603 (missing, exit 66), E605 (columns or texts are missing, or lists of a row
  ///         have different lengths; exit 65), E604 (the bytes are not those written, exit 80).
  explicit TreeReader(const std::filesystem::path& results);
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;
  ~TreeReader();

  std::int64_t rows() const;

  /// Returns the tree of a row.
  /// Errors: Failure E605 (exit 65) if the lists of the row contradict each other, or cannot be
  ///         read.
  ReadTree read(std::int64_t row) const;

private:
  struct Columns;

  void add_steps(std::int64_t row, const std::vector<std::vector<std::string>>& texts,
                 ReadTree& tree) const;
  std::vector<std::size_t> ends_of_paths(std::int64_t row,
                                         const std::vector<std::vector<std::string>>& texts) const;

  std::filesystem::path path_;
  std::unique_ptr<Columns> columns_;
};

}  // namespace mgpu::jobs
