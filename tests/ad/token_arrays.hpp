#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// One token of kind `step`, to compare and print.
struct StepToken {
  int x, y, previous_action, previous_reward, landing_x, landing_y, target;

  friend bool operator==(const StepToken&, const StepToken&) = default;
  friend std::ostream& operator<<(std::ostream& out, const StepToken& t) {
    return out << "cell " << t.x << ' ' << t.y << ", after action " << t.previous_action
               << " reward " << t.previous_reward << " landing " << t.landing_x << ' '
               << t.landing_y << ", target " << t.target;
  }
};

/// The memory of a StepBatch; every element is -1 until it is written.
class StepArrays {
public:
  StepArrays(std::size_t rows, std::size_t tokens) : columns_(7, Column(rows * tokens, -1)) {}

  StepBatch batch() {
    return {columns_[0].data(), columns_[1].data(), columns_[2].data(), columns_[3].data(),
            columns_[4].data(), columns_[5].data(), columns_[6].data()};
  }
  StepToken token(std::size_t at) const {
    return {columns_[0][at], columns_[1][at], columns_[2][at], columns_[3][at],
            columns_[4][at], columns_[5][at], columns_[6][at]};
  }

private:
  using Column = std::vector<std::int32_t>;
  std::vector<Column> columns_;
};

/// The memory of a TransitionBatch; every element is -1 until it is written.
struct TransitionArrays {
  TransitionArrays(std::size_t rows, std::size_t tokens, std::size_t width)
      : most(tokens - 1),
        num_features(width),
        features(rows * most * width, -1.0F),
        length(rows, -1),
        query(rows, -1),
        target(rows, -1) {}

  TransitionBatch batch() { return {features.data(), length.data(), query.data(), target.data()}; }
  std::vector<float> features_of(std::size_t row, std::size_t i) const {
    const auto begin =
        features.begin() + static_cast<std::ptrdiff_t>((row * most + i) * num_features);
    return {begin, begin + static_cast<std::ptrdiff_t>(num_features)};
  }

  std::size_t most;
  std::size_t num_features;
  std::vector<float> features;  // [B, most, F]
  std::vector<std::int32_t> length;
  std::vector<std::int32_t> query;
  std::vector<std::int32_t> target;
};

}  // namespace mgpu::ad
