#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include <mgpu/ad/python_shuffle.hpp>

namespace mgpu::ad {
namespace {

constexpr std::size_t kWords = std::mt19937::state_size;

/// A seed sequence that fills the state of a std::mt19937 as CPython's init_by_array() does. This
/// is possible because the C++ standard lets a seed sequence choose every word of the state.
class InitByArray {
public:
  using result_type = std::uint32_t;

  explicit InitByArray(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        key_size_(key_[1] == 0 ? 1 : 2) {}

  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    const auto words = state();
    std::copy_n(words.begin(), end - begin, begin);
  }

private:
  std::array<std::uint32_t, kWords> state() const {
    auto words = first_state();
    std::size_t i = 1;
    const auto mix = [&](std::uint32_t factor, std::uint32_t summand, bool add) {
      const std::uint32_t last = words[i - 1];
      const std::uint32_t mixed = words[i] ^ ((last ^ (last >> 30)) * factor);
      words[i] = add ? mixed + summand : mixed - summand;
      if (++i < kWords) return;
      words[0] = words[kWords - 1];
      i = 1;
    };
    for (std::size_t k = 0; k < kWords; ++k) {
      const auto j = static_cast<std::uint32_t>(k % key_size_);
      mix(1664525, key_[j] + j, true);
    }
    for (std::size_t k = 0; k + 1 < kWords; ++k)
      mix(1566083941, static_cast<std::uint32_t>(i), false);
    words[0] = 0x80000000;
    return words;
  }

  /// Returns the state after init_genrand(19650218) of CPython.
  static std::array<std::uint32_t, kWords> first_state() {
    std::array<std::uint32_t, kWords> words{19650218};
    for (std::uint32_t i = 1; i < kWords; ++i)
      words[i] = 1812433253 * (words[i - 1] ^ (words[i - 1] >> 30)) + i;
    return words;
  }

  std::array<std::uint32_t, 2> key_;
  std::size_t key_size_;
};

std::mt19937 seeded(std::uint64_t seed) {
  InitByArray words(seed);
  return std::mt19937(words);
}

}  // namespace

PythonRandom::PythonRandom(std::uint64_t seed) : engine_(seeded(seed)) {}

std::uint32_t PythonRandom::getrandbits(int bits) {
  return static_cast<std::uint32_t>(engine_()) >> (32 - bits);
}

std::uint32_t PythonRandom::below(std::uint32_t n) {
  const int bits = static_cast<int>(std::bit_width(n));
  std::uint32_t drawn = getrandbits(bits);
  while (drawn >= n)
    drawn = getrandbits(bits);
  return drawn;
}

void PythonRandom::shuffle(std::span<int> items) {
  for (std::size_t i = items.size(); i-- > 1;)
    std::swap(items[i], items[below(static_cast<std::uint32_t>(i) + 1)]);
}

}  // namespace mgpu::ad
