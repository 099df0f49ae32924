#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

namespace mgpu::algorithms {

std::uint32_t crc_of(const LmExamples& examples) {
  std::uint32_t crc = crc32c(std::as_bytes(std::span(examples.ids)));
  crc = crc32c(std::as_bytes(std::span(examples.is_learned)), crc);
  return crc32c(std::as_bytes(std::span(examples.ends)), crc);
}

LmWindows::LmWindows(LmExamples examples, std::int64_t seq_len, std::uint64_t seed)
    : examples_(std::move(examples)), seq_len_(seq_len), seed_(seed) {
  pack();
}

void LmWindows::pack() {
  std::vector<std::size_t> order(examples_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return examples_.length(a) > examples_.length(b);
  });
  std::set<std::pair<std::int64_t, std::size_t>> open;  // room left, window
  for (const std::size_t example : order) {
    const std::int64_t length = examples_.length(example);
    if (length > seq_len_) throw ShapeError("LmWindows: an example is longer than a window");
    auto fullest = open.lower_bound({length, 0});
    if (fullest == open.end()) {
      windows_.emplace_back();
      fullest = open.emplace(seq_len_, windows_.size() - 1).first;
    }
    const auto [room, window] = *fullest;
    open.erase(fullest);
    open.emplace(room - length, window);
    windows_[window].examples.push_back(example);
    windows_[window].tokens += length;
    // The first token is never predicted.
    const auto first = examples_.is_learned.begin() + examples_.begin(example);
    windows_[window].predictions += std::count(first + 1, first + length, std::uint8_t{1});
  }
  for (Window& window : windows_)
    std::sort(window.examples.begin(), window.examples.end());
}

double LmWindows::fill() const {
  return static_cast<double>(examples_.ids.size()) /
         (static_cast<double>(windows_.size()) * static_cast<double>(seq_len_));
}

std::size_t LmWindows::window_at(std::uint64_t ordinal) const {
  const auto epoch = static_cast<std::uint32_t>(ordinal / size());
  return KeyedPermutation(size(), seed_, epoch)(ordinal % size());
}

void LmWindows::append(std::size_t window, language::LmBatch& batch) const {
  for (const std::size_t example : windows_[window].examples) {
    const auto begin = static_cast<std::size_t>(examples_.begin(example));
    const auto length = static_cast<std::size_t>(examples_.length(example));
    batch.runs.push_back({std::span(examples_.ids).subspan(begin, length)});
    for (std::size_t i = begin; i + 1 < begin + length; ++i)
      batch.targets.push_back(examples_.is_learned[i + 1] != 0 ? examples_.ids[i + 1]
                                                               : kernels::kIgnoreTarget);
    batch.targets.push_back(kernels::kIgnoreTarget);
  }
}

}  // namespace mgpu::algorithms
