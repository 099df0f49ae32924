#pragma once

#include <cstdint>

namespace mgpu {

/// A pseudo-random permutation of {0, ..., n - 1} that is computed instead of stored. The element
/// at any position takes O(1) time.
///
/// The permutation depends only on (n, seed, epoch). So a training that resumes needs only one
/// integer, its position in the training data.
/// Source: four-round balanced Feistel network over the smallest power of four >= n, iterated until
///         the value falls below n (Black and Rogaway, CT-RSA 2002, cycle walking).
class KeyedPermutation {
public:
  /// Requires n >= 1 and epoch < 2^24.
  KeyedPermutation(std::uint64_t n, std::uint64_t seed, std::uint32_t epoch);

  /// Returns the element at `position` < n.
  std::uint64_t operator()(std::uint64_t position) const;

  std::uint64_t size() const { return n_; }

private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t n_;
  std::uint64_t seed_;
  std::uint32_t epoch_;
  int half_bits_;
};

}  // namespace mgpu
