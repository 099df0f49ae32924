#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/input/generated_rows.hpp>

namespace mgpu::recipes {

/// Reads the solutions in a result file of job collect. Each solution gives a row. Like a row of a
/// text file, it has the members `prompt`, `completions` (texts of the steps), `labels` and
/// `values`. It also has the tokens that the model sampled:
///
/// - `prompt_ids` and `output_ids`, tokens of the question and of the solution,
/// - `ends`, the number of tokens of the solution up to the end of each step,
/// - `question`, the row of the question in its data set.
///
/// Questions without solutions have no row. The file is not trusted: row() throws if its lists
/// contradict each other. Only one thread at a time may use the object.
class CollectedRows final : public input::GeneratedRows {
public:
  /// Errors: Failure E603 (missing, exit 66), E605 (no result file of job collect, exit 65), E604
  ///         (the bytes are not those written, exit 80).
  explicit CollectedRows(std::filesystem::path path);
  CollectedRows(const CollectedRows&) = delete;
  CollectedRows& operator=(const CollectedRows&) = delete;
  CollectedRows(CollectedRows&&) = delete;
  CollectedRows& operator=(CollectedRows&&) = delete;
  ~CollectedRows() override;

  std::string name() const override { return path_.string(); }
  std::int64_t rows() const override;

  /// Errors: Failure E605 (exit 65) if the lists of the question contradict each other.
  std::string row(std::int64_t index) const override;

private:
  struct Columns;
  struct Question;

  const Question& question_at(std::int64_t row) const;

  std::filesystem::path path_;
  std::unique_ptr<Columns> columns_;
  mutable std::unique_ptr<Question> question_;  // the last one that was read
};

}  // namespace mgpu::recipes
