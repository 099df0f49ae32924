#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace mgpu::ad {

/// The numbers of CPython's `random` module: the same generator, seeded and read the same way.
///
/// So that a split made by a Python script can be made again.
/// Source: CPython 3.11, Modules/_randommodule.c (random_seed, init_by_array, getrandbits) and
/// Lib/random.py (_randbelow_with_getrandbits, shuffle); Matsumoto and Nishimura, mt19937ar.
class PythonRandom {
public:
  /// random.seed(seed) of an integer.
  explicit PythonRandom(std::uint64_t seed);

  /// random.getrandbits(bits), 1 <= bits <= 32.
  std::uint32_t getrandbits(int bits);

  /// random._randbelow(n), n >= 1.
  std::uint32_t below(std::uint32_t n);

  /// random.shuffle(items).
  void shuffle(std::span<int> items);

private:
  std::mt19937 engine_;
};

}  // namespace mgpu::ad
