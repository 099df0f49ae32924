#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/random_streams.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/datasets/dataset.hpp>

namespace mgpu::datasets {

/// The choices that make one row, in order. The first `counted` choices are computed from
/// `number`, so rows with different numbers differ. Later choices are random numbers.
class RowDraws {
public:
  RowDraws(std::uint64_t seed, std::uint64_t number, std::size_t counted);

  /// Returns the next choice, one of {0, ..., n - 1}. For a counted choice, n must be the number of
  /// values that RowSpace was given for this choice. Otherwise n must be below 2^32.
  std::uint64_t below(std::uint64_t n);

  /// Returns whether the next choice is a counted one.
  bool is_counted() const { return made_ < counted_; }

private:
  RandomStream stream_;
  std::uint64_t number_;
  std::size_t counted_;
  std::size_t made_ = 0;
};

/// The rows of a data set, in a random order. A row results from a sequence of choices, each with a
/// fixed number of values. The first choices are "counted", as long as their values have at most
/// 2^62 combinations. Each combination has exactly one row. The values of later choices are random.
class RowSpace {
public:
  /// `choices` lists how many values each choice has, in order. An element of 0 stands for too many
  /// values to be counted. The choice with this element and all later choices are not counted.
  RowSpace(const std::vector<std::uint64_t>& choices, std::uint64_t seed);

  /// Returns the number of rows: one for each combination of values of the counted choices.
  std::uint64_t size() const { return size_; }

  /// Returns the choices of row `index` < size(). Each `salt` gives a different random order of the
  /// rows.
  RowDraws row(std::uint64_t index, std::uint64_t salt = 0) const;

private:
  std::uint64_t seed_;
  std::uint64_t size_ = 1;
  std::size_t counted_ = 0;
};

/// The number of rows of each split. The rows of all splits have consecutive numbers: first test,
/// then validation, then train. So the other splits stay the same if the size of train changes.
struct SplitSizes {
  std::array<std::int64_t, 3> rows{};  // index: Split

  std::int64_t of(Split split) const { return rows.at(static_cast<std::size_t>(split)); }
  std::uint64_t total() const;

  /// Converts the index of a row in its split to its number among the rows of all splits.
  std::uint64_t number(Split split, std::int64_t index) const;
};

/// Adds the key data.NAME.rows, where NAME is `dataset`. The value of the key lists how many rows
/// train, validation and test have.
void add_rows_key(KeyTable& table, const std::string& dataset);

/// Returns the sizes that `value` lists. `value` is the value of the key data.NAME.rows. `room` is
/// the number of different rows of the data set.
///
/// Errors: Failure E107 (exit 78) if `value` does not have three numbers; E124 if the sum of the
///         numbers is larger than `room`.
SplitSizes split_sizes(const Config& config, const std::string& dataset,
                       const std::vector<std::int64_t>& value, std::uint64_t room);

/// Returns a * b, but at most 2^62.
std::uint64_t capped_product(std::uint64_t a, std::uint64_t b);

}  // namespace mgpu::datasets
