#include "judge.hpp"

#include <mgpu/datasets/answers.hpp>

namespace mgpu::jobs {

const datasets::Dataset* dataset_of(const rows::ModelRowKeys& rows) {
  return rows.dataset ? &*rows.dataset->dataset : nullptr;
}

JudgedAnswer AnswerJudge::judge(std::int64_t question, const std::string& expected,
                                const std::vector<std::int64_t>& ids) const {
  const std::string text = encoder_.decode(ids);
  if (!rows_.dataset)
    return {datasets::find_answer(text).value_or(""), datasets::is_right(text, expected)};
  const datasets::Dataset& dataset = *rows_.dataset->dataset;
  const datasets::Answer answer{text, ids};
  return {dataset.given_answer(answer).value_or(""),
          dataset.score(rows_.dataset->split, question, answer) >= 1.0};
}

}  // namespace mgpu::jobs
