// Tests that a node has one copy of a model folder: the reads, the shared memory, and failures of
// the reader.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <ATen/ATen.h>
#include <support/shared_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {
namespace {

namespace fs = std::filesystem;
using Tensors = std::span<const at::Tensor>;

class ResidentModelsTest : public testing::Test {
protected:
  /// Makes a folder whose only weight file holds `text`. Ranks: collective.
  fs::path make_folder(const std::string& name, const std::string& text) const {
    const fs::path folder = shared_.path() / name;
    if (world_.rank() == 0) fs::create_directory(folder);
    shared_.write(name + "/model.safetensors", text);
    return folder;
  }

  /// Opens a folder of two tensors and fills them with `value` if this rank is the reader.
  std::vector<at::Tensor> open(const fs::path& folder, double value) {
    return models_.open(folder, {{2, 3}, {5}}, [&](Tensors tensors) {
      ++reads_;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others have to wait
      for (const at::Tensor& tensor : tensors)
        tensor.fill_(value);
    });
  }

  int reads_of_all() const { return world_.all_reduce(reads_, cluster::ReduceOp::sum); }

  const cluster::Group world_ = cluster::Group::world();
  const testing_support::SharedFolder shared_{world_};
  ResidentModels models_{world_};
  int reads_ = 0;
};

TEST_F(ResidentModelsTest, OneRankReadsAndAllSeeItsTensors) {
  const fs::path folder = make_folder("a", "weights");
  const std::vector<at::Tensor> tensors = open(folder, 7.0);
  EXPECT_EQ(reads_of_all(), 1);
  EXPECT_EQ(tensors.at(0).sizes(), at::IntArrayRef({2, 3}));
  EXPECT_TRUE(tensors.at(0).eq(7.0).all().item<bool>());
  EXPECT_TRUE(tensors.at(1).eq(7.0).all().item<bool>());
  open(folder, 8.0);
  EXPECT_EQ(reads_of_all(), 1);
  world_.barrier();  // the reader's memory lives until all have looked
}

TEST_F(ResidentModelsTest, FoldersHaveCopiesThatDiffer) {
  const fs::path one = make_folder("one", "weights");
  const fs::path two = make_folder("two", "weights");
  const bool is_even = world_.rank() % 2 == 0;
  const std::vector<at::Tensor> first = open(is_even ? one : two, is_even ? 1.0 : 2.0);
  const std::vector<at::Tensor> second = open(is_even ? two : one, is_even ? 2.0 : 1.0);
  EXPECT_EQ(reads_of_all(), 2);
  EXPECT_TRUE(first.at(1).eq(is_even ? 1.0 : 2.0).all().item<bool>());
  EXPECT_TRUE(second.at(1).eq(is_even ? 2.0 : 1.0).all().item<bool>());
  world_.barrier();
}

TEST_F(ResidentModelsTest, AnyChangedFileMakesAnotherCopy) {
  const fs::path folder = make_folder("a", "weights");
  open(folder, 1.0);
  shared_.write("a/config.json", "{}");
  const std::vector<at::Tensor> tensors = open(folder, 2.0);
  EXPECT_EQ(reads_of_all(), 2);
  EXPECT_TRUE(tensors.at(0).eq(2.0).all().item<bool>());
  world_.barrier();
}

TEST_F(ResidentModelsTest, OtherShapesMakeAnotherCopy) {
  const fs::path folder = make_folder("a", "weights");
  open(folder, 1.0);
  const auto fill = [&](Tensors tensors) {
    ++reads_;
    tensors[0].fill_(3.0);
  };
  const std::vector<at::Tensor> tensors = models_.open(folder, {{4}}, fill);
  EXPECT_EQ(reads_of_all(), 2);
  EXPECT_TRUE(tensors.at(0).eq(3.0).all().item<bool>());
  world_.barrier();
}

TEST_F(ResidentModelsTest, WeightsWithoutUsersAreDroppedTheOldestFirst) {
  const fs::path old = make_folder("old", "weights");
  const fs::path recent = make_folder("recent", "weights");
  const fs::path in_use = make_folder("in_use", "weights");
  const std::vector<at::Tensor> used = open(in_use, 1.0);
  open(old, 2.0);
  open(recent, 3.0);
  world_.barrier();
  if (world_.rank() == 0) {
    EXPECT_GT(models_.drop_unused(1), 0U);
    EXPECT_EQ(models_.num_dropped(), 1U);
  }
  world_.barrier();
  EXPECT_EQ(reads_of_all(), 3);
  EXPECT_TRUE(open(recent, 4.0).at(0).eq(3.0).all().item<bool>());  // it is still there
  EXPECT_TRUE(open(old, 5.0).at(0).eq(5.0).all().item<bool>());     // it is read again
  EXPECT_EQ(reads_of_all(), 4);
  world_.barrier();
  if (world_.rank() == 0) models_.drop_unused(std::uint64_t{1} << 40);
  world_.barrier();
  EXPECT_EQ(models_.num_dropped(), 3U);
  EXPECT_TRUE(used.at(1).eq(1.0).all().item<bool>());
  world_.barrier();
}

TEST_F(ResidentModelsTest, AFailedReadIsTriedAgainByTheRankThatWaits) {
  const fs::path folder = make_folder("a", "weights");
  const auto fail = [&](Tensors) {
    ++reads_;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    throw Error("no such tensor");
  };
  EXPECT_THROW(models_.open(folder, {{4}}, fail), Error);
  EXPECT_EQ(reads_of_all(), world_.size());
  const auto fill = [&](Tensors tensors) {
    ++reads_;
    tensors[0].fill_(4.0);
  };
  EXPECT_TRUE(models_.open(folder, {{4}}, fill).at(0).eq(4.0).all().item<bool>());
  EXPECT_EQ(reads_of_all(), world_.size() + 1);
  world_.barrier();
}

TEST_F(ResidentModelsTest, AFailedReadDoesNotDisturbOtherFolders) {
  const fs::path bad = make_folder("bad", "weights");
  const fs::path good = make_folder("good", "weights");
  EXPECT_THROW(models_.open(bad, {{4}}, [](Tensors) { throw Error("damaged"); }), Error);
  world_.barrier();
  open(good, 5.0);
  world_.barrier();
  // The slot of the failed folder is vacant again, and precedes the slot of `good`.
  EXPECT_TRUE(open(good, 6.0).at(0).eq(5.0).all().item<bool>());
  EXPECT_EQ(reads_of_all(), 1);
  world_.barrier();
}

TEST_F(ResidentModelsTest, ATextIsMadeOncePerNode) {
  const fs::path folder = make_folder("a", "weights");
  const auto make = [&] {
    ++reads_;
    return std::string("llama, 3 layers");
  };
  EXPECT_EQ(models_.about(folder, make), "llama, 3 layers");
  EXPECT_EQ(reads_of_all(), 1);
  EXPECT_EQ(models_.about(folder, make), "llama, 3 layers");
  EXPECT_EQ(reads_of_all(), 1);
  EXPECT_THROW(models_.about(make_folder("b", "weights"), [] { return std::string(401, 'x'); }),
               Error);
  world_.barrier();
}

}  // namespace
}  // namespace mgpu::lm
