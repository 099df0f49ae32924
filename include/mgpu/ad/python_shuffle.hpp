#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace mgpu::ad {

/// Draws the same numbers as CPython's module `random`, to reproduce a split into training and test
/// tasks that a Python script made.
///
/// Source: CPython 3.11, Modules/_randommodule.c (random_seed, init_by_array, getrandbits) and
///         Lib/random.py (_randbelow_with_getrandbits, shuffle); Matsumoto and Nishimura,
///         mt19937ar.
class PythonRandom {
public:
  /// Seeds the generator as random.seed(seed) does for an integer.
  explicit PythonRandom(std::uint64_t seed);

  /// Returns the same value as random.getrandbits(bits), 1 <= bits <= 32.
  std::uint32_t getrandbits(int bits);

  /// Returns the same value as random._randbelow(n), n >= 1.
  std::uint32_t below(std::uint32_t n);

  /// Shuffles the items as random.shuffle(items) does.
  void shuffle(std::span<int> items);

private:
  std::mt19937 engine_;
};

}  // namespace mgpu::ad
