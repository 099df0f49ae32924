#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/process_memory.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

#include "golden_folder.hpp"
#include "support/measured.hpp"
#include "support/project_folder.hpp"
#include "support/sanitizers.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kIgnore = kernels::kIgnoreTarget;

/// Owns the data to which a batch refers.
struct TestBatch {
  std::vector<std::vector<std::int64_t>> sequences;
  std::vector<std::int64_t> targets;

  LmBatch view() const {
    LmBatch batch{{}, targets};
    for (const auto& ids : sequences)
      batch.spans.push_back({ids});
    return batch;
  }
};

/// Expected values from tests/oracle/language_training.py.
struct TrainingGolden {
  TestBatch batch;
  double loss;
  formats::SafetensorsFile file;

  explicit TrainingGolden(const std::string& name)
      : file(testing_support::lm_goldens() / "training" / (name + ".safetensors")) {
    const auto ids = values_of<std::int64_t>(*file.find("ids"));
    auto next = ids.begin();
    for (const std::int64_t count : values_of<std::int64_t>(*file.find("counts"))) {
      batch.sequences.emplace_back(next, next + count);
      next += count;
    }
    batch.targets = values_of<std::int64_t>(*file.find("targets"));
    loss = values_of<double>(*file.find("loss")).front();
  }
};

TrainableModel open(const std::string& name, const TrainingOptions& options = {}) {
  const fs::path folder = testing_support::lm_goldens() / name;
  TrainableModel model(read_lm_config(folder), Device{}, 0, options);
  model.load(formats::WeightFiles(folder));
  return model;
}

/// Returns the largest difference relative to the largest value of `b`.
double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const double difference = (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
  return difference / b.abs().max().item<double>();
}

std::int64_t count_of(const TestBatch& batch) {
  return std::count_if(batch.targets.begin(), batch.targets.end(),
                       [](std::int64_t target) { return target != kIgnore; });
}

class TrainingOracleTest : public testing::TestWithParam<const char*> {};

TEST_P(TrainingOracleTest, LossAndGradientsAreThoseOfTransformers) {
  const TrainingGolden golden(GetParam());
  TrainableModel model = open(GetParam());
  const std::int64_t count = count_of(golden.batch);

  const LmSums sums = model.add_gradients(golden.batch.view(), 1.0 / static_cast<double>(count));

  EXPECT_EQ(sums.predictions, count);
  EXPECT_NEAR(sums.loss / static_cast<double>(count), golden.loss, 1e-5 * golden.loss);
  double worst = std::abs(sums.loss / static_cast<double>(count) / golden.loss - 1.0);
  for (std::size_t p = 0; p < model.parameters().size(); ++p) {
    const std::string& name = model.parameters().spec(p).name;
    const formats::StoredTensor* stored = golden.file.find(name);
    ASSERT_NE(stored, nullptr) << name;
    const at::Tensor expected =
        at::tensor(values_of<float>(*stored), at::kFloat).view(stored->shape);
    const double difference = relative_difference(model.parameters().gradient(p), expected);
    EXPECT_LT(difference, 1e-5) << name;
    worst = std::max(worst, difference);
  }
  testing_support::print_measured("loss and gradients of " + std::string(GetParam()), worst, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Families, TrainingOracleTest,
                         testing::Values("gpt2", "llama", "llama_biases", "llama_stored_head",
                                         "llama_yarn", "mistral", "qwen2_window", "qwen3_switches",
                                         "gpt_oss"),
                         [](const auto& entry) { return std::string(entry.param); });

class FamilyTest : public testing::TestWithParam<const char*> {};

// The central difference (f(w + h) - f(w - h)) / 2h in float64 has an error of h^2 f''' / 6 + 2^-53
// f / h, about 1e-9 with h = 1e-5.
TEST_P(FamilyTest, GradientsAreThoseOfFiniteDifferences) {
  const TrainingGolden golden(GetParam());
  TrainableModel model = open(GetParam(), {.dtype = DType::f64});
  const LmBatch batch = golden.batch.view();
  model.add_gradients(batch, 1.0);

  constexpr double kStep = 1e-5;
  for (std::size_t p = 0; p < model.parameters().size(); ++p) {
    const at::Tensor flat = model.parameters().parameter(p).detach().view(-1);
    double* value = flat.mutable_data_ptr<double>() + flat.numel() / 3;
    const double before = *value;
    *value = before + kStep;
    const double above = model.loss(batch).loss;
    *value = before - kStep;
    const double below = model.loss(batch).loss;
    *value = before;
    const double gradient =
        model.parameters().gradient(p).reshape(-1)[flat.numel() / 3].item<double>();
    EXPECT_NEAR(gradient, (above - below) / (2 * kStep), 1e-7) << model.parameters().spec(p).name;
  }
}

TEST_P(FamilyTest, PackedSequencesAreAsSeparateOnes) {
  const TrainingGolden golden(GetParam());
  TrainableModel packed = open(GetParam());
  TrainableModel separate = open(GetParam());

  const LmSums all = packed.add_gradients(golden.batch.view(), 1.0);

  LmSums sum;
  auto next = golden.batch.targets.begin();
  for (const auto& ids : golden.batch.sequences) {
    const TestBatch one{{ids}, {next, next + std::ssize(ids)}};
    next += std::ssize(ids);
    const LmSums part = separate.add_gradients(one.view(), 1.0);
    sum.loss += part.loss;
    sum.predictions += part.predictions;
    sum.correct += part.correct;
  }
  EXPECT_NEAR(all.loss, sum.loss, 1e-12 * sum.loss);
  EXPECT_EQ(all.predictions, sum.predictions);
  EXPECT_EQ(all.correct, sum.correct);
  // About 40 float32 terms, one per token, are added in another order.
  EXPECT_LT(relative_difference(packed.parameters().gradients(), separate.parameters().gradients()),
            1e-5);
}

TEST_P(FamilyTest, CheckpointedLayersChangeNoBit) {
  const TrainingGolden golden(GetParam());
  TrainableModel kept = open(GetParam());
  TrainableModel computed_again = open(GetParam(), {.checkpoint_layers = true});

  const LmSums a = kept.add_gradients(golden.batch.view(), 0.25);
  const LmSums b = computed_again.add_gradients(golden.batch.view(), 0.25);

  EXPECT_EQ(a.loss, b.loss);
  EXPECT_TRUE(kept.parameters().gradients().equal(computed_again.parameters().gradients()));
}

TEST_P(FamilyTest, EachParameterIsReadyOnceWithItsWholeGradient) {
  TrainableModel model = open(GetParam());
  const TrainingGolden golden(GetParam());
  std::vector<at::Tensor> when_ready(model.parameters().size());
  model.parameters().on_gradient_ready([&](std::size_t p) {
    EXPECT_FALSE(when_ready[p].defined()) << model.parameters().spec(p).name;
    when_ready[p] = model.parameters().gradient(p).clone();
  });

  model.add_gradients(golden.batch.view(), 1.0);

  for (std::size_t p = 0; p < model.parameters().size(); ++p) {
    ASSERT_TRUE(when_ready[p].defined()) << model.parameters().spec(p).name;
    EXPECT_TRUE(at::equal(when_ready[p], model.parameters().gradient(p)))
        << model.parameters().spec(p).name;
  }
}

TEST_P(FamilyTest, LogProbabilitiesHaveTheBitsOfInference) {
  const TrainingGolden golden(GetParam());
  const TrainableModel training = open(GetParam());
  const LanguageModel inference = LanguageModel::open(testing_support::lm_goldens() / GetParam());
  const LmBatch batch = golden.batch.view();

  const at::Tensor targets = at::tensor(golden.batch.targets, at::kLong);
  const at::Tensor learned = (targets != kIgnore).nonzero().squeeze(1);
  const at::Tensor hidden = inference.hidden(batch.spans).index_select(0, learned);
  const HeadResult head = apply_head(inference, hidden, targets.index_select(0, learned), 0);

  EXPECT_EQ(training.loss(batch).loss, -head.log_probs.sum(at::kDouble).item<double>());
}

TEST_P(FamilyTest, SixteenBitsAreCloseToFloat) {
  const TrainingGolden golden(GetParam());
  TrainableModel exact = open(GetParam());
  const LmSums a = exact.add_gradients(golden.batch.view(), 1.0);
  // The error comes from about ten consecutive products, each rounded to 8 or 11 bits. Experts also
  // multiply by their shares.
  const double more = exact.config().experts.count > 0 ? 2.0 : 1.0;
  for (const auto& [compute, tolerance] :
       {std::pair(tensor::ComputeKind::bf16, 0.1), std::pair(tensor::ComputeKind::f16, 0.0125)}) {
    TrainableModel rounded = open(GetParam(), {.compute = compute});

    const LmSums b = rounded.add_gradients(golden.batch.view(), 1.0);

    EXPECT_NEAR(b.loss, a.loss, 0.1 * more * tolerance * a.loss);
    const double difference =
        relative_difference(rounded.parameters().gradients(), exact.parameters().gradients());
    EXPECT_LT(difference, more * tolerance);
    EXPECT_GT(difference, 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTest,
                         testing::Values("gpt2", "llama", "mistral", "qwen3_switches", "gpt_oss"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(TrainableModelTest, ATargetOutsideTheVocabularyIsRefused) {
  TrainableModel model = open("llama");
  const TestBatch batch{{{1, 2}}, {2, 67}};

  EXPECT_THROW(model.add_gradients(batch.view(), 1.0), ShapeError);
}

TEST(TrainableModelTest, LogitsOfAllTokensNeverExist) {
  if (testing_support::kKeepsFreedMemory) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  LmConfig config = read_lm_config(testing_support::lm_goldens() / "llama");
  config.vocab = 32768;
  TrainableModel model(config, Device{}, 0);
  TestBatch batch;
  for (std::int64_t run = 0; run < 64; ++run) {
    batch.sequences.emplace_back(64, run);
    batch.targets.insert(batch.targets.end(), 64, (run * 251) % config.vocab);
  }
  const std::uint64_t before = host_peak_bytes();

  model.add_gradients(batch.view(), 1.0);

  constexpr std::uint64_t kLogits = std::uint64_t{4096} * 32768 * sizeof(float);  // 512 MiB
  EXPECT_LT(host_peak_bytes() - before, kLogits / 2);
}

TEST(TrainableModelTest, ExpertsOf4BitsAreTrainedFromTheFloatsThatTheyStandFor) {
  const TrainingGolden golden("gpt_oss");
  const LmBatch batch = golden.batch.view();
  TrainableModel training = open("gpt_oss_mxfp4");
  const LanguageModel inference =
      LanguageModel::open(testing_support::lm_goldens() / "gpt_oss_mxfp4");

  const LmSums sums = training.add_gradients(batch, 1.0);

  const at::Tensor targets = at::tensor(golden.batch.targets, at::kLong);
  const at::Tensor learned = (targets != kIgnore).nonzero().squeeze(1);
  const at::Tensor hidden = inference.hidden(batch.spans).index_select(0, learned);
  const HeadResult head = apply_head(inference, hidden, targets.index_select(0, learned), 0);
  EXPECT_EQ(sums.loss, -head.log_probs.sum(at::kDouble).item<double>());
  for (std::size_t p = 0; p < training.parameters().size(); ++p)
    EXPECT_GT(training.parameters().gradient(p).abs().max().item<float>(), 0.0F)
        << training.parameters().spec(p).name;
}

TEST(TrainableModelTest, NothingToLearnLeavesGradientsAlone) {
  TrainableModel model = open("llama");
  const TestBatch batch{{{1, 2, 3}}, {kIgnore, kIgnore, kIgnore}};

  const LmSums sums = model.add_gradients(batch.view(), 1.0);

  EXPECT_EQ(sums.predictions, 0);
  EXPECT_EQ(model.parameters().gradients().abs().max().item<double>(), 0.0);
}

}  // namespace
}  // namespace mgpu::lm
