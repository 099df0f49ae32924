#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/input/generated_rows.hpp>

namespace mgpu::recipes {

/// Reads the solutions in a result file of job collect. The file has a tree for each question, and
/// each solution is a path in the tree. Each solution gives a row, and each node on its path gives
/// one step of the row. The text of this step may join several steps of the sampled solution. The
/// row has the members `prompt`, `completions` (the texts of the steps), `labels` and `values`, as
/// in rows of text files. The row also has these members:
///
/// - `prompt_ids` and `output_ids`, the token ids of the question and of the sampled solution,
/// - `ends`, for each step the number of tokens of the solution up to the end of the step,
/// - `question`, the index of the question in its data set.
///
/// A question without solutions gives no row. The file may be wrong: row() throws if the lists of
/// the file contradict each other. Only one thread at a time may use the object.
class CollectedRows final : public input::GeneratedRows {
public:
  /// Errors: Failure E603 (missing, exit 66), E605 (no result file of job collect, or no solution
  ///         in it, exit 65), E604 (a checksum differs, exit 80).
  explicit CollectedRows(std::filesystem::path path);
  CollectedRows(const CollectedRows&) = delete;
  CollectedRows& operator=(const CollectedRows&) = delete;
  CollectedRows(CollectedRows&&) = delete;
  CollectedRows& operator=(CollectedRows&&) = delete;
  ~CollectedRows() override;

  std::string name() const override { return path_.string(); }
  std::int64_t rows() const override;

  /// Errors: Failure E605 (exit 65) if the lists of the question contradict each other, if its
  ///         steps are not texts, or if the file cannot be read.
  std::string row(std::int64_t index) const override;

private:
  struct Columns;
  struct Question;

  const Question& question_at(std::int64_t row) const;

  std::filesystem::path path_;
  std::unique_ptr<Columns> columns_;
  mutable std::unique_ptr<Question> question_;  // the question that was read last
};

}  // namespace mgpu::recipes
