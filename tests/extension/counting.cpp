// Defines a data set of token ids for models without a tokenizer. A row asks to count on from a
// number.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <mgpu/datasets/registry.hpp>

namespace mgpu::datasets {
namespace {

constexpr std::int64_t kGiven = 3;     // ids of a prompt
constexpr std::int64_t kExpected = 4;  // ids of its completion
constexpr std::array<std::int64_t, 3> kRows = {24, 8, 8};
constexpr const char* kFirstKey = "data.counting.first_id";

/// Row i of a split gives three consecutive ids and expects the next four. The first id of a row
/// differs from those of all other rows, so the splits have no row in common.
class Counting final : public Dataset {
public:
  explicit Counting(std::int64_t first_id) : first_id_(first_id) {}

  std::int64_t rows(Split split) const override {
    return kRows.at(static_cast<std::size_t>(split));
  }

  std::string row(Split split, std::int64_t index) const override {
    const std::int64_t begin = begin_of(split, index);
    return R"({"token_ids": )" + ids_text(begin, kGiven) + R"(, "completion_ids": )" +
           ids_text(begin + kGiven, kExpected) + "}";
  }

  bool has_check() const override { return true; }

  /// Returns how near the ids of the answer are to the expected ids, from 0 to 1 (equal).
  double score(Split split, std::int64_t index, const Answer& answer) const override {
    const std::int64_t begin = begin_of(split, index) + kGiven;
    double sum = 0.0;
    for (std::int64_t i = 0; i < std::min(kExpected, std::ssize(answer.ids)); ++i) {
      const std::int64_t distance = answer.ids[static_cast<std::size_t>(i)] - (begin + i);
      sum += 1.0 / (1.0 + std::abs(static_cast<double>(distance)));
    }
    return sum / static_cast<double>(kExpected);
  }

  std::string_view metric() const override { return "nearness"; }

private:
  std::int64_t begin_of(Split split, std::int64_t index) const {
    std::int64_t begin = first_id_ + index;
    for (std::size_t s = 0; s < static_cast<std::size_t>(split); ++s)
      begin += kRows[s];
    return begin;
  }

  static std::string ids_text(std::int64_t begin, std::int64_t count) {
    std::string text = "[";
    for (std::int64_t i = 0; i < count; ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(begin + i);
    return text + "]";
  }

  std::int64_t first_id_;
};

void add_keys(KeyTable& table) {
  table.add({.name = kFirstKey,
             .type = KeyType::integer,
             .default_value = "3",
             .summary = "first token id of data set counting",
             .min = 0,
             .max = 1000});
}

std::unique_ptr<Dataset> make(const Config& config) {
  return std::make_unique<Counting>(config.integer(kFirstKey));
}

}  // namespace

DatasetEntry counting_dataset() {
  return {.name = "counting",
          .summary = "count on from three token ids",
          .add_keys = add_keys,
          .has_texts = [](const Config& /*config*/) { return false; },
          .make = make};
}

}  // namespace mgpu::datasets
