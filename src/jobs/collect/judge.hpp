#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/datasets/registry.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

namespace mgpu::jobs {

/// The answer that a solution states, and whether this answer is right.
struct JudgedAnswer {
  std::string answer{};  // "": none
  bool is_right = false;
};

/// Returns the data set of the questions; nullptr if they are the rows of a file.
const datasets::Dataset* dataset_of(const rows::ModelRowKeys& rows);

/// Judges the answers of solutions. For a data set (data.dataset), the data set checks the answer.
/// For a data file, the answer is compared with column `answer` of the row.
class AnswerJudge {
public:
  /// Keeps references to `rows` and `encoder`, which must outlive this object.
  AnswerJudge(const rows::ModelRowKeys& rows, const rows::PromptEncoder& encoder)
      : rows_(rows), encoder_(encoder) {}

  /// Judges a solution. `question` is the index of the question in the data set, and `expected` is
  /// the answer in the question's row. `ids` are all tokens of the solution.
  JudgedAnswer judge(std::int64_t question, const std::string& expected,
                     const std::vector<std::int64_t>& ids) const;

  /// Returns the data set of the questions; nullptr if they are the rows of a file.
  const datasets::Dataset* dataset() const { return dataset_of(rows_); }

private:
  const rows::ModelRowKeys& rows_;
  const rows::PromptEncoder& encoder_;
};

}  // namespace mgpu::jobs
