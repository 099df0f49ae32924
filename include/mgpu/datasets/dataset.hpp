#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <mgpu/datasets/answers.hpp>

namespace mgpu::datasets {

/// A part of a data set. No row is in two splits.
enum class Split : std::uint8_t { train, validation, test };

/// The completion that a model has written for a row.
struct Answer {
  std::string_view text;              // "" if the model has no tokenizer
  std::span<const std::int64_t> ids;  // tokens of the completion
};

/// A data set whose rows the program computes, or makes from a published data set. It may also
/// judge the answers that a model gives (see has_check()).
///
/// A row has the columns of a data file: `prompt` and `completion`, `messages`, `text`, or
/// `token_ids` and `completion_ids`. It may also have `answer`. The results of row() and score()
/// depend only on their arguments, on the configuration and on the files that the configuration
/// names. So they are the same on every rank and in every run.
class Dataset {
public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  Dataset(Dataset&&) = delete;
  Dataset& operator=(Dataset&&) = delete;
  virtual ~Dataset() = default;

  /// Returns the number of rows of a split; 0 if the data set does not have the split.
  virtual std::int64_t rows(Split split) const = 0;

  /// Returns row `index` of a split as a JSON object on one line.
  virtual std::string row(Split split, std::int64_t index) const = 0;

  /// Returns whether score() can judge answers.
  virtual bool has_check() const { return false; }

  /// Returns the score of an answer to row `index` of a split, from 0 (wrong) to 1 (right). Returns
  /// 0 if has_check() is false.
  virtual double score(Split /*split*/, std::int64_t /*index*/, const Answer& /*answer*/) const {
    return 0.0;
  }

  /// Returns the answer that a completion gives, without the text around it; nullopt if it gives
  /// none. Completions of a row that give the same answer have the same score.
  virtual std::optional<std::string> given_answer(const Answer& answer) const {
    return find_answer(answer.text);
  }

  /// Returns whether two results of given_answer() are the same answer.
  virtual bool is_same(const std::string& a, const std::string& b) const {
    return same_answer(a, b);
  }

  /// Returns the name that results use for the mean of score() over rows.
  virtual std::string_view metric() const { return "accuracy"; }
};

}  // namespace mgpu::datasets
