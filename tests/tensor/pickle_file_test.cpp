// Reads written pickle files with libtorch's own reader. tests/end_to_end/collect_pt_test.py opens
// such files with PyTorch.
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/tensor/pickle_file.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::tensor {
namespace {

class PickleFileTest : public testing::Test {
protected:
  std::string written(const c10::IValue& value) const {
    write_pickle(path_, value);
    return read_file(path_);
  }

  static c10::IValue read(const std::string& bytes) {
    return torch::jit::pickle_load({bytes.begin(), bytes.end()});
  }

  testing_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "batch.pt";
};

TEST_F(PickleFileTest, AllKindsOfValuesAreReadBack) {
  const at::Tensor table = at::arange(6, at::kFloat).view({2, 3});
  c10::impl::GenericList list = pickle_list();
  for (const c10::IValue& value : {c10::IValue(table), c10::IValue("text"), c10::IValue(-7),
                                   c10::IValue(0.25), c10::IValue(true), c10::IValue()})
    list.push_back(value);
  c10::impl::GenericDict dict = pickle_dict();
  dict.insert("values", list);
  dict.insert("empty", at::zeros({0, 4}, at::kHalf));

  const c10::IValue found = read(written(dict));
  const c10::impl::GenericDict items = found.toGenericDict();
  const c10::List<c10::IValue> values = items.at("values").toList();
  ASSERT_EQ(values.size(), 6U);
  EXPECT_TRUE(values.get(0).toTensor().equal(table));
  EXPECT_EQ(values.get(1).toStringRef(), "text");
  EXPECT_EQ(values.get(2).toInt(), -7);
  EXPECT_EQ(values.get(3).toDouble(), 0.25);
  EXPECT_TRUE(values.get(4).toBool());
  EXPECT_TRUE(values.get(5).isNone());
  const at::Tensor empty = items.at("empty").toTensor();
  EXPECT_EQ(empty.sizes(), (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(empty.scalar_type(), at::kHalf);
}

TEST_F(PickleFileTest, ViewsShareTheirStorage) {
  const at::Tensor table = at::arange(1000, at::kFloat).view({100, 10});
  c10::impl::GenericList views = pickle_list();
  for (std::int64_t row = 0; row < 100; ++row)
    views.push_back(table[row]);
  const std::string bytes = written(views);
  EXPECT_LT(bytes.size(), 2U * 4000 + 100 * 100);  // one copy, where 100 copies have 400,000 bytes

  const c10::List<c10::IValue> found = read(bytes).toList();
  EXPECT_TRUE(found.get(42).toTensor().equal(table[42]));
  EXPECT_TRUE(found.get(42).toTensor().is_alias_of(found.get(7).toTensor()));
}

TEST_F(PickleFileTest, EqualValuesGiveEqualBytes) {
  const auto value = [] {
    c10::impl::GenericDict dict = pickle_dict();
    dict.insert("latents", at::full({3, 5}, 0.5));
    dict.insert("answer", "42");
    return dict;
  };
  const std::string first = written(value());
  EXPECT_EQ(written(value()), first);
}

TEST_F(PickleFileTest, AFullDiskIsAnErrorWithThePath) {
  try {
    write_pickle("/dev/full", at::zeros({1000}));
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E602");
    EXPECT_NE(std::string(failure.what()).find("/dev/full"), std::string::npos);
  }
}

}  // namespace
}  // namespace mgpu::tensor
