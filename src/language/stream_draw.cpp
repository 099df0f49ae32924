#include "stream_draw.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu::language {

bool StreamDraw::add(std::span<const float> scores, std::int64_t first_id) {
  const Philox4 words = draw_words(stream_, position_, block_++);
  const double block_top = *std::max_element(scores.begin(), scores.end());
  if (block_top == -std::numeric_limits<double>::infinity()) return false;
  const double top = std::max(top_, block_top);
  double block_sum = 0.0;
  for (const float score : scores)
    block_sum += std::exp(static_cast<double>(score) - top);
  sum_ = sum_ * std::exp(top_ - top) + block_sum;
  top_ = top;
  // NaN takes nothing over, and its row is refused by its sum.
  if (!(uniform53(words[0], words[1]) * sum_ < block_sum)) return false;
  const double aim = uniform53(words[2], words[3]) * block_sum;
  double reached = 0.0;
  for (std::size_t i = 0; i < scores.size() && reached <= aim; ++i) {
    const double weight = std::exp(static_cast<double>(scores[i]) - top);
    if (weight > 0.0) id_ = first_id + static_cast<std::int64_t>(i);
    reached += weight;
  }
  return true;
}

}  // namespace mgpu::language
