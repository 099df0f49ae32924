#include <bit>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/base/random_streams.hpp>

namespace mgpu {

KeyedPermutation::KeyedPermutation(std::uint64_t n, std::uint64_t seed, std::uint32_t epoch)
    : n_(n),
      seed_(seed),
      epoch_(epoch),
      half_bits_(static_cast<int>(std::bit_width(n - 1) + 1) / 2) {
  if (n == 0) throw Error("a permutation of nothing");
}

std::uint64_t KeyedPermutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint32_t round = 0; round < 4; ++round) {
    const RandomStream stream(seed_, Purpose::data_order, epoch_, right);
    left = std::exchange(right, left ^ (stream.bits(round) & mask));
  }
  return (left << half_bits_) | right;
}

std::uint64_t KeyedPermutation::operator()(std::uint64_t position) const {
  if (position >= n_) throw Error("position past the end of a permutation");
  std::uint64_t value = position;
  do {
    value = encrypt(value);
  } while (value >= n_);
  return value;
}

}  // namespace mgpu
