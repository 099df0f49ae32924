#include <random>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/bit_pack.hpp>

namespace mgpu::formats {
namespace {

TEST(BitPackTest, NumbersComeBackAtEveryWidth) {
  std::mt19937_64 random(3);
  for (int bits = 1; bits <= 32; ++bits) {
    const std::uint64_t top = (std::uint64_t{1} << bits) - 1;
    std::vector<std::uint32_t> values{0, static_cast<std::uint32_t>(top)};
    for (int i = 0; i < 61; ++i)
      values.push_back(static_cast<std::uint32_t>(random() & top));
    const std::vector<std::uint8_t> bytes = pack_bits(values, bits);
    EXPECT_EQ(bytes.size(), (values.size() * static_cast<std::size_t>(bits) + 7) / 8);
    EXPECT_EQ(unpack_bits(bytes, bits, values.size()), values) << bits;
  }
}

TEST(BitPackTest, TheOrderOfBitsIsThatOfNumpy) {
  // 1, 2, 3 in 3 bits each: 0b011'010'001, the lowest bits first.
  EXPECT_EQ(pack_bits(std::vector<std::uint32_t>{1, 2, 3}, 3),
            (std::vector<std::uint8_t>{0b11010001, 0b0}));
}

TEST(BitPackTest, IdsOfLargeVocabulariesTakeTheBytesThatArePromised) {
  EXPECT_EQ(bits_for(128256), 17);
  EXPECT_EQ(bits_for(151936), 18);
  EXPECT_EQ(bits_for(131072), 17);
  EXPECT_EQ(bits_for(131073), 18);
  EXPECT_EQ(bits_for(1), 1);
  const std::vector<std::uint32_t> best(64, 128255);
  EXPECT_EQ(pack_bits(best, 17).size() + 64 * 2, 264);
  EXPECT_EQ(pack_bits(best, 18).size() + 64 * 2, 272);
}

TEST(BitPackTest, WhatDoesNotFitIsAnError) {
  EXPECT_THROW(pack_bits(std::vector<std::uint32_t>{8}, 3), Error);
  EXPECT_THROW(unpack_bits(std::vector<std::uint8_t>{0}, 3, 3), ShapeError);
}

}  // namespace
}  // namespace mgpu::formats
