// Tests checkpoints of language models, which are model folders.
#include <filesystem>

#include <ATen/core/Tensor.h>

#include <gtest/gtest.h>

#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

#include "lm/golden_folder.hpp"
#include "lm/logits_of.hpp"
#include "recipes/train_state.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

namespace fs = std::filesystem;
using lm::LanguageModel;

/// Writes a checkpoint of the untrained model in `source` to `run`, as job train does.
fs::path write_checkpoint(const cluster::Group& world, const fs::path& run,
                          const fs::path& source) {
  lm::TrainableModel model(lm::read_lm_config(source), Device{}, 0);
  model.load(formats::WeightFiles(source));
  train::Adamw optimizer(model.parameters(), {});
  train::LossScaler scaler(false);
  TrainCurves curves(1, 0, {});
  TrainState state(model.parameters(), optimizer, scaler, curves);
  state.files = lm::companion_files(source);
  lm::set_stored_head(model.config(), state.files);
  state.save(store::CheckpointStore(world, run, {}), 1, false);
  return run / "ckpt" / "last";
}

class ModelCheckpointTest : public testing::TestWithParam<const char*> {};

// tests/oracle/written_folders.py opens these files with transformers.
TEST_P(ModelCheckpointTest, IsAFolderOfTheSameModel) {
  const cluster::Group world = cluster::Group::world();
  const fs::path source = testing_support::lm_goldens() / GetParam();
  const fs::path run = fs::path(MGPU_WRITTEN) / GetParam();
  fs::remove_all(run);
  fs::create_directories(run);

  const fs::path written = write_checkpoint(world, run, source);

  lm::LmConfig expected = lm::read_lm_config(source);
  expected.stored_type = "float32";
  expected.stored_head = lm::StoredHead::as_configured;  // the checkpoint has the used head
  EXPECT_EQ(lm::read_lm_config(written), expected);
  const LanguageModel before = LanguageModel::open(source);
  const LanguageModel after = LanguageModel::open(written);
  for (const lm::Golden& golden : lm::read_goldens(source)) {
    const lm::SequenceSpan run_of_ids{golden.ids};
    EXPECT_TRUE(logits_of(after, after.hidden({&run_of_ids, 1}))
                    .equal(logits_of(before, before.hidden({&run_of_ids, 1}))));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ModelCheckpointTest,
                         testing::Values("gpt2", "gpt2_only_head", "gpt2_switches", "llama",
                                         "llama_biases", "llama_llama3_v4", "llama_stored_head",
                                         "llama_yarn_switches", "mistral", "qwen2", "qwen2_window",
                                         "qwen3_switches", "gpt_oss", "gpt_oss_mxfp4"),
                         [](const auto& entry) { return std::string(entry.param); });

}  // namespace
}  // namespace mgpu::recipes
