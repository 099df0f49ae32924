#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace mgpu {

/// A short text that a signal handler, or another process that maps the memory, may read while the
/// owner writes it. It always ends with a zero byte; longer text is cut to kBytes - 1 bytes. If the
/// owner writes twice during a read, the reader may see a mixture of two texts.
template <std::size_t kBytes>
class SafeText {
public:
  void set(std::string_view text) noexcept {
    const int next = 1 - (current_.load(std::memory_order_relaxed) & 1);
    const std::size_t length = std::min(text.size(), kBytes - 1);
    std::memcpy(texts_[next], text.data(), length);
    texts_[next][length] = '\0';
    current_.store(next, std::memory_order_release);
  }
  const char* get() const noexcept { return texts_[current_.load(std::memory_order_acquire) & 1]; }

private:
  char texts_[2][kBytes] = {};
  std::atomic<int> current_{0};
};

}  // namespace mgpu
