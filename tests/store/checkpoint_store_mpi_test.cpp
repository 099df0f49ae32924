#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/checkpoint/checkpoint_store.hpp>

#include "checkpoint_content.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::store {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CheckpointStoreTest : public testing::Test {
protected:
  CheckpointStoreTest() {
    if (world_.rank() == 0) own_.emplace();
    root_ = world_.broadcast(own_ ? own_->path().string() : "", 0);
  }
  ~CheckpointStoreTest() override { world_.barrier(); }

  CheckpointStore store(int keep = 3) const { return {world_, root_, {1, keep}}; }

  fs::path save(std::int64_t step, bool is_best = false) const {
    TinyTraining training(world_.rank() == 0 ? step : -1);
    const auto model = training.model();
    const auto trainer = training.trainer();
    return store().save({model, trainer, training.state()}, is_best);
  }

  /// Calls `act` on rank 0, while the other ranks wait.
  template <class Act>
  void on_rank_0(Act act) const {
    if (world_.rank() == 0) act();
    world_.barrier();
  }

  static void damage(const fs::path& file) {
    std::string bytes = read_file(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
  }

  ErrorReport failure_of_load(const std::vector<formats::NamedTensor>& model,
                              const std::vector<formats::NamedTensor>& trainer) const {
    try {
      store().load_newest(model, trainer);
      return {};
    } catch (const Failure& failure) {
      return failure.report();
    }
  }

  const cluster::Group world_ = cluster::Group::world();
  std::optional<testing_support::TemporaryFolder> own_;
  fs::path root_;
};

TEST_F(CheckpointStoreTest, EveryRankGetsWhatRank0Saved) {
  const fs::path directory = save(41000);
  TinyTraining training;

  const Restored restored = store().load_newest(training.model(), training.trainer());

  EXPECT_EQ(directory, root_ / "ckpt" / "step_00041000");
  EXPECT_EQ(restored.directory, directory);
  EXPECT_EQ(restored.state, TinyTraining(41000).state());
  EXPECT_TRUE(training.is_at(41000));
  EXPECT_THAT(restored.warnings, IsEmpty());
}

TEST_F(CheckpointStoreTest, NothingToLoadIsNotAnError) {
  TinyTraining training(5);
  const Restored restored = store().load_newest(training.model(), training.trainer());
  EXPECT_FALSE(restored.state.has_value());
  EXPECT_TRUE(training.is_at(5));
}

TEST_F(CheckpointStoreTest, ADamagedOneIsNamedSkippedAndKept) {
  save(1);
  save(2);
  save(3);
  on_rank_0([&] {
    damage(root_ / "ckpt/step_00000003/model.safetensors");
    fs::resize_file(root_ / "ckpt/step_00000002/trainer.safetensors", 99);
  });
  TinyTraining training;

  const Restored restored = store().load_newest(training.model(), training.trainer());

  EXPECT_TRUE(training.is_at(1));
  EXPECT_THAT(restored.warnings, Each(Not(HasSubstr("\n"))));
  EXPECT_THAT(restored.warnings,
              Contains("checkpoint step_00000003 is damaged and was skipped (W611)"));
  EXPECT_THAT(restored.warnings, Contains(HasSubstr("tensor `blocks.0.w`: CRC-32C expected")));
  EXPECT_THAT(restored.warnings, Contains(EndsWith("step_00000003.bad")));
  EXPECT_THAT(restored.warnings, Contains(HasSubstr("trainer.safetensors")));
  EXPECT_TRUE(fs::exists(root_ / "ckpt/step_00000003.bad/model.safetensors"));
  EXPECT_EQ(fs::read_symlink(root_ / "ckpt/last"), "step_00000001");
}

TEST_F(CheckpointStoreTest, NoWholeOneLeftIsAnErrorOnEveryRankEveryTime) {
  save(1);
  on_rank_0([&] { damage(root_ / "ckpt/step_00000001/state.json"); });
  TinyTraining training(7);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const ErrorReport report = failure_of_load(training.model(), training.trainer());
    EXPECT_EQ(report.code, "E611");
    EXPECT_EQ(report.exit, ExitCode::corrupt);
    EXPECT_THAT(render(report), HasSubstr("step_00000001.bad"));
    EXPECT_TRUE(training.is_at(7));
  }
}

TEST_F(CheckpointStoreTest, AnotherModelIsRefusedWithATable) {
  save(21000);
  TinyTraining training(7);
  std::vector<formats::NamedTensor> model = training.model();
  model[0].shape = {3, 2};
  model[1].name = "head.bias";
  std::vector<formats::NamedTensor> trainer = training.trainer();
  trainer[1].view.dtype = DType::i64;

  const ErrorReport report = failure_of_load(model, trainer);

  EXPECT_EQ(report.code, "E612");
  EXPECT_EQ(report.exit, ExitCode::cannot_create);
  EXPECT_THAT(report.sentence, HasSubstr("ckpt/step_00021000 is for another model"));
  EXPECT_THAT(
      report.lines,
      ElementsAre("  tensor        checkpoint    this model",
                  "  blocks.0.w    [2, 3]        [3, 2]", "  head.bias     -             [2]",
                  "  bias          [2]           -", "  counter       U64 []        I64 []"));
  EXPECT_TRUE(training.is_at(7));
}

TEST_F(CheckpointStoreTest, OneRanksOtherModelStopsAll) {
  save(1);
  TinyTraining training(7);
  std::vector<formats::NamedTensor> model = training.model();
  if (world_.rank() == world_.size() - 1) model[0].shape = {6};
  EXPECT_EQ(failure_of_load(model, training.trainer()).code, "E612");
}

TEST_F(CheckpointStoreTest, KeepsTheNewestAndTheBest) {
  save(1, true);
  for (std::int64_t step = 2; step <= 5; ++step)
    save(step);
  on_rank_0([&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ / "ckpt"))
      names.insert(entry.path().filename().string());
    EXPECT_THAT(names, ElementsAre("best", "last", "step_00000001", "step_00000003",
                                   "step_00000004", "step_00000005"));
  });
}

TEST_F(CheckpointStoreTest, AnUnwritableFolderFailsOnEveryRank) {
  on_rank_0([&] { std::ofstream(root_ / "ckpt") << "a file in the way"; });
  try {
    save(1);
    FAIL() << "saved through a file";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr((root_ / "ckpt").string()));
  }
}

}  // namespace
}  // namespace mgpu::store
