#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/base/random_streams.hpp>

namespace mgpu {
namespace {

// The expected words are the known-answer vectors of the Random123 distribution (kat_vectors,
// philox4x32 10).
TEST(PhiloxTest, GivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreamTest, StreamsOfDifferentPurposesDiffer) {
  const RandomStream a(7, Purpose::source, 0, 3);
  const RandomStream b(7, Purpose::sampling, 0, 3);
  EXPECT_NE(a.bits(0), b.bits(0));
  EXPECT_EQ(a.bits(5), RandomStream(7, Purpose::source, 0, 3).bits(5));
}

TEST(RandomStreamTest, UniformHasTheMomentsOfAUniform) {
  constexpr int kDraws = 100000;
  double sum = 0.0;
  double square = 0.0;
  const RandomStream stream(1, Purpose::source, 0, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform(static_cast<std::uint64_t>(i));
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    square += u * u;
  }
  // The standard error of the mean is 1 / sqrt(12 n) = 9.1e-4, and the tolerance is five times
  // that.
  EXPECT_NEAR(sum / kDraws, 0.5, 4.6e-3);
  EXPECT_NEAR(square / kDraws, 1.0 / 3.0, 4.8e-3);
}

TEST(RandomStreamTest, BelowStaysBelow) {
  const RandomStream stream(1, Purpose::source, 0, 0);
  std::set<std::uint32_t> seen;
  for (std::uint64_t d = 0; d < 200; ++d)
    seen.insert(stream.below(5, d));
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(RandomStreamTest, FillingGivesTheDrawsInOrder) {
  const RandomStream stream(0x123456789abcdef0, Purpose::source, 5, 0xfedcba9876543210);
  for (const std::size_t size : {0U, 1U, 4U, 79U, 80U, 81U, 163U}) {
    std::vector<std::uint32_t> words(size + 1, 7);
    stream.fill(3, std::span(words).first(size));
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(words[i], stream.bits(12 + i)) << "word " << i << " of " << size;
    EXPECT_EQ(words[size], 7U) << "written past the end";
  }
}

TEST(KeyedPermutationTest, VisitsEveryElementOnce) {
  for (const std::uint64_t n : {1U, 2U, 3U, 5U, 64U, 65U, 1000U}) {
    const KeyedPermutation order(n, 3, 0);
    std::vector<int> visits(n, 0);
    for (std::uint64_t i = 0; i < n; ++i)
      ++visits.at(order(i));
    EXPECT_EQ(visits, std::vector<int>(n, 1)) << "n = " << n;
  }
}

TEST(KeyedPermutationTest, EpochAndSeedChangeTheOrder) {
  const auto list = [](std::uint64_t seed, std::uint32_t epoch) {
    std::vector<std::uint64_t> order;
    const KeyedPermutation permutation(100, seed, epoch);
    for (std::uint64_t i = 0; i < 100; ++i)
      order.push_back(permutation(i));
    return order;
  };
  EXPECT_NE(list(1, 0), list(1, 1));
  EXPECT_NE(list(1, 0), list(2, 0));
  EXPECT_EQ(list(1, 0), list(1, 0));
}

TEST(KeyedPermutationTest, RefusesNothingAndPastTheEnd) {
  EXPECT_THROW(KeyedPermutation(0, 0, 0), Error);
  EXPECT_THROW(KeyedPermutation(3, 0, 0)(3), Error);
}

}  // namespace
}  // namespace mgpu
