#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/tensor/read_back.hpp>

namespace mgpu::tensor {
namespace {

TEST(ReadBackTest, EveryReadCounts) {
  const at::Tensor table = at::arange(6, at::kDouble).view({2, 3});
  const std::int64_t before = read_backs();
  EXPECT_TRUE(read_back(table).is_same(table));
  EXPECT_EQ(read_backs(), before + 1);
  EXPECT_EQ(read_value<double>(table[1][1]), 4.0);
  EXPECT_TRUE(read_value<bool>((table < 6).all()));
  EXPECT_EQ(read_backs(), before + 3);
  EXPECT_TRUE(places_of_true(table > 3).equal(at::tensor({1, 1, 1, 2}, at::kLong).view({2, 2})));
  EXPECT_EQ(read_backs(), before + 4);
  const at::Tensor host = at::zeros_like(table);
  read_into(host, table);
  EXPECT_TRUE(host.equal(table));
  EXPECT_EQ(read_backs(), before + 5);
}

}  // namespace
}  // namespace mgpu::tensor
