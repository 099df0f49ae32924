#include "row_space.hpp"

#include <algorithm>

#include <mgpu/base/keyed_permutation.hpp>

namespace mgpu::datasets {
namespace {

constexpr Purpose kRowChoices{21};  // draws the choices that RowSpace does not count
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 62;

std::string rows_key(const std::string& dataset) {
  return "data." + dataset + ".rows";
}

/// Formats sizes of train, validation and test that add up to `room`, such as "[80, 10, 10]".
/// Validation and test get a tenth of `room` each.
std::string fitting_rows(std::uint64_t room) {
  const std::uint64_t part = room / 10;
  return "[" + std::to_string(room - 2 * part) + ", " + std::to_string(part) + ", " +
         std::to_string(part) + "]";
}

}  // namespace

std::uint64_t capped_product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostRows / b ? kMostRows : a * b;
}

RowDraws::RowDraws(std::uint64_t seed, std::uint64_t number, std::size_t counted)
    : stream_(seed, kRowChoices, 0, number), number_(number), counted_(counted) {}

std::uint64_t RowDraws::below(std::uint64_t n) {
  if (!is_counted()) return stream_.below(static_cast<std::uint32_t>(n), made_++);
  ++made_;
  const std::uint64_t chosen = number_ % n;
  number_ /= n;
  return chosen;
}

RowSpace::RowSpace(const std::vector<std::uint64_t>& choices, std::uint64_t seed) : seed_(seed) {
  for (const std::uint64_t n : choices) {
    if (n == 0 || n > kMostRows / size_) break;
    size_ *= n;
    ++counted_;
  }
}

RowDraws RowSpace::row(std::uint64_t index, std::uint64_t salt) const {
  const std::uint64_t key = seed_ ^ (salt * 0x9E3779B97F4A7C15) ^ 0x726F7773;
  return {key, KeyedPermutation(size_, key, 0)(index), counted_};
}

std::uint64_t SplitSizes::total() const {
  return static_cast<std::uint64_t>(rows[0] + rows[1] + rows[2]);
}

std::uint64_t SplitSizes::number(Split split, std::int64_t index) const {
  std::int64_t first = 0;
  if (split != Split::test) first += of(Split::test);
  if (split == Split::train) first += of(Split::validation);
  return static_cast<std::uint64_t>(first + index);
}

void add_rows_key(KeyTable& table, const std::string& dataset) {
  table.add({.name = rows_key(dataset),
             .type = KeyType::integers,
             .default_value = "[15000, 1000, 4000]",
             .summary = "rows of data set " + dataset + " to train on, for validation and for test",
             .unit = "rows",
             .min = 0,
             .max = 1e9});
}

SplitSizes split_sizes(const Config& config, const std::string& dataset,
                       const std::vector<std::int64_t>& value, std::uint64_t room) {
  const std::string key = rows_key(dataset);
  if (value.size() != 3)
    throw config.problem("E107", key, "`" + key + "` has three numbers: train, validation, test",
                         key + "=[15000, 1000, 4000]");
  SplitSizes sizes{{value[0], value[1], value[2]}};
  if (sizes.total() > room)
    throw config.problem("E124", key,
                         "the splits of data set " + dataset + " need " +
                             std::to_string(sizes.total()) +
                             " different rows, and there are only " + std::to_string(room),
                         key + "=" + fitting_rows(room));
  return sizes;
}

}  // namespace mgpu::datasets
