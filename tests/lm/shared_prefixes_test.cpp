// Compares passes in which sequences of a group share the rows of their first tokens with passes
// without sharing. cudaemu_shared_prefixes_test runs the same tests on the GPU branches.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/formats/weight_files.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "lm/training/pass_rows.hpp"
#include "support/measured.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kIgnore = kernels::kIgnoreTarget;
constexpr std::int64_t kVocab = 67;

/// A sequence of a group: a prompt and a completion, which is learned.
struct Member {
  std::uint64_t group;
  std::vector<std::int64_t> prompt;
  std::vector<std::int64_t> completion;
};

/// Returns `count` ids that differ with `seed`.
std::vector<std::int64_t> ids_of(std::int64_t count, std::int64_t seed) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back((seed * 31 + i * i * 7 + i * 5) % kVocab);
  return ids;
}

/// Owns the data to which a batch refers.
struct GroupBatch {
  explicit GroupBatch(const std::vector<Member>& members) {
    for (const Member& member : members) {
      std::vector<std::int64_t>& ids = sequences.emplace_back(member.prompt);
      ids.insert(ids.end(), member.completion.begin(), member.completion.end());
      for (std::size_t t = 1; t < ids.size(); ++t)
        targets.push_back(t < member.prompt.size() ? kIgnore : ids[t]);
      targets.push_back(kIgnore);
      groups.push_back(member.group);
    }
  }

  LmBatch view() const {
    LmBatch batch{{}, targets};
    batch.groups = groups;
    for (const auto& ids : sequences)
      batch.spans.push_back({ids});
    return batch;
  }

  std::vector<std::vector<std::int64_t>> sequences;
  std::vector<std::int64_t> targets;
  std::vector<std::uint64_t> groups;
};

/// Returns groups whose prompts are longer or shorter than a page of 16 tokens, end where a page
/// ends, or are equal in different groups. Some completions of a group begin alike or are equal,
/// and one is the beginning of another.
GroupBatch some_groups() {
  std::vector<Member> members;
  for (std::int64_t c = 0; c < 4; ++c)
    members.push_back({3, ids_of(27, 1), ids_of(1 + 3 * c, 5 + c)});
  members.push_back({3, ids_of(27, 1), ids_of(4, 6)});  // the second completion again
  for (std::int64_t c = 0; c < 3; ++c)
    members.push_back({4, ids_of(32, 2), ids_of(9 - c, 9 + c)});
  members.push_back({4, ids_of(32, 2), ids_of(3, 9)});  // the beginning of the first completion
  for (std::int64_t c = 0; c < 2; ++c)
    members.push_back({5, ids_of(5, 3), ids_of(11, 12 + c)});
  members.push_back({6, ids_of(27, 1), ids_of(8, 20)});  // alone in its group
  return GroupBatch(members);
}

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

/// Returns whether a token gets the same bits in any batch. The matrix products of libtorch, which
/// GPUs use, do not guarantee it.
bool has_equal_bits(const TrainableModel& model) {
  return !tensor::runs_on_gpu(model.parameters().weights());
}

class SharedPrefixesTest : public testing::TestWithParam<const char*> {};

TEST_P(SharedPrefixesTest, LogProbabilitiesHaveTheSameBits) {
  const GroupBatch batch = some_groups();
  const TrainableModel apart = open(GetParam());
  const TrainableModel shared = open(GetParam(), {.shares_prefixes = true});
  const ValueRequest request{.entropies = true, .temperature = 0.7, .plain_log_probs = true};

  const TokenValues expected = apart.measure(batch.view(), request);
  const TokenValues values = shared.measure(batch.view(), request);

  ASSERT_EQ(values.log_probs.size(), batch.targets.size());
  const double tolerance = has_equal_bits(shared) ? 0.0 : 1e-5;
  for (std::size_t t = 0; t < batch.targets.size(); ++t) {
    ASSERT_NEAR(values.log_probs[t], expected.log_probs[t], tolerance) << t;
    ASSERT_NEAR(values.plain_log_probs[t], expected.plain_log_probs[t], tolerance) << t;
    ASSERT_NEAR(values.entropies[t], expected.entropies[t], tolerance) << t;
  }
}

TEST_P(SharedPrefixesTest, GradientsAreThoseOfSeparateSequences) {
  const GroupBatch batch = some_groups();
  TrainableModel apart = open(GetParam());
  TrainableModel shared = open(GetParam(), {.shares_prefixes = true});

  const LmSums expected = apart.add_gradients(batch.view(), 0.01);
  const LmSums sums = shared.add_gradients(batch.view(), 0.01);

  if (has_equal_bits(shared))
    EXPECT_EQ(sums.loss, expected.loss);
  else
    EXPECT_NEAR(sums.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_EQ(sums.predictions, expected.predictions);
  double worst = 0.0;
  for (std::size_t p = 0; p < shared.parameters().size(); ++p) {
    const double difference =
        relative_difference(shared.parameters().gradient(p), apart.parameters().gradient(p));
    EXPECT_LT(difference, 1e-5) << shared.parameters().spec(p).name;
    worst = std::max(worst, difference);
  }
  testing_support::print_measured("gradients of " + std::string(GetParam()), worst, 1e-5);
}

TEST_P(SharedPrefixesTest, GradientsIn64BitsDifferByRoundingOnly) {
  const GroupBatch batch = some_groups();
  TrainableModel apart = open(GetParam(), {.dtype = DType::f64});
  TrainableModel shared = open(GetParam(), {.shares_prefixes = true, .dtype = DType::f64});

  const LmSums expected = apart.add_gradients(batch.view(), 1.0);
  const LmSums sums = shared.add_gradients(batch.view(), 1.0);

  EXPECT_NEAR(sums.loss, expected.loss, 1e-12 * expected.loss);
  for (std::size_t p = 0; p < shared.parameters().size(); ++p)
    EXPECT_LT(relative_difference(shared.parameters().gradient(p), apart.parameters().gradient(p)),
              1e-12)
        << shared.parameters().spec(p).name;
}

TEST_P(SharedPrefixesTest, CheckpointedLayersChangeNoBit) {
  const GroupBatch batch = some_groups();
  TrainableModel kept = open(GetParam(), {.shares_prefixes = true});
  TrainableModel computed_again =
      open(GetParam(), {.checkpoint_layers = true, .shares_prefixes = true});

  const LmSums a = kept.add_gradients(batch.view(), 0.25);
  const LmSums b = computed_again.add_gradients(batch.view(), 0.25);

  EXPECT_EQ(a.loss, b.loss);
  EXPECT_TRUE(kept.parameters().gradients().equal(computed_again.parameters().gradients()));
}

INSTANTIATE_TEST_SUITE_P(Families, SharedPrefixesTest,
                         testing::Values("gpt2", "llama", "llama_biases", "llama_dynamic",
                                         "llama_yarn", "mistral", "qwen2_window", "qwen3_switches",
                                         "gpt_oss"),
                         [](const auto& entry) { return std::string(entry.param); });

/// A loss that is the sum of the squares of the head's outputs for all states that `rows` selects.
class SumOfHead final : public TokenLoss {
public:
  explicit SumOfHead(HeadRows rows) : rows_(rows) {}
  PassLoss bind(const LmBatch& /*batch*/) const override {
    PassLoss loss;
    loss.head_rows = rows_;
    loss.of_head = [](at::Tensor& outputs, std::optional<double> scale) {
      LmSums sums{.loss = outputs.to(at::kDouble).pow(2).sum().item<double>()};
      if (scale) outputs.mul_(2.0 * *scale);
      return sums;
    };
    return loss;
  }

private:
  HeadRows rows_;
};

TEST(SharedPrefixesHeadTest, AnAdditionalHeadReadsTheStatesOfEachSequence) {
  const GroupBatch batch = some_groups();
  const ModelHead head{.outputs = 2, .has_bias = true};
  for (const HeadRows rows : {HeadRows::learned, HeadRows::reached, HeadRows::last}) {
    TrainableModel apart = open("llama", {.head = head});
    TrainableModel shared = open("llama", {.shares_prefixes = true, .head = head});
    const SumOfHead loss(rows);

    const LmSums expected = apart.add_gradients(batch.view(), {.loss = &loss});
    const LmSums sums = shared.add_gradients(batch.view(), {.loss = &loss});

    EXPECT_NEAR(sums.loss, expected.loss, has_equal_bits(shared) ? 0.0 : 1e-5 * expected.loss);
    EXPECT_GT(sums.loss, 0.0);
    EXPECT_LT(relative_difference(shared.parameters().gradients(), apart.parameters().gradients()),
              1e-5);
  }
}

std::size_t rows_in(const LmConfig& config, const GroupBatch& batch, bool shares) {
  return rows_of(config, batch.view(), shares).tokens.size();
}

TEST(PassRowsTest, APromptHasItsRowsOnce) {
  const LmConfig config = read_lm_config(testing_support::lm_goldens() / "llama");
  const GroupBatch batch(
      {{1, ids_of(20, 1), {1, 2}}, {1, ids_of(20, 1), {3}}, {1, ids_of(20, 1), {4, 5, 6}}});

  EXPECT_EQ(rows_in(config, batch, true), 20 + 2 + 1 + 3);
  EXPECT_EQ(rows_in(config, batch, false), 66);
}

TEST(PassRowsTest, RowsAreThoseOfTheSameBeginning) {
  const LmConfig config = read_lm_config(testing_support::lm_goldens() / "llama");
  const GroupBatch batch = some_groups();
  const PassRows rows = rows_of(config, batch.view(), true);

  ASSERT_EQ(rows.rows.size(), batch.targets.size());
  std::size_t token = 0;
  std::vector<std::vector<std::int64_t>> beginnings(rows.tokens.size());
  for (const auto& ids : batch.sequences)
    for (std::size_t t = 0; t < ids.size(); ++t, ++token) {
      const auto end = ids.begin() + static_cast<std::ptrdiff_t>(t) + 1;
      const std::vector<std::int64_t> beginning(ids.begin(), end);
      auto& of_row = beginnings[static_cast<std::size_t>(rows.rows[token])];
      if (of_row.empty()) of_row = beginning;
      EXPECT_EQ(of_row, beginning);
    }
}

TEST(PassRowsTest, OtherGroupsShareNothing) {
  const LmConfig config = read_lm_config(testing_support::lm_goldens() / "llama");
  const GroupBatch batch({{1, ids_of(20, 1), {1}}, {2, ids_of(20, 1), {2}}});
  LmBatch without_groups = batch.view();
  without_groups.groups.clear();

  EXPECT_EQ(rows_in(config, batch, true), 42);
  EXPECT_FALSE(rows_of(config, without_groups, true).are_shared());
}

// llama_dynamic stretches the rotation of sequences longer than 32 tokens.
TEST(PassRowsTest, SequencesOfOtherRotationsShareNothing) {
  const LmConfig config = read_lm_config(testing_support::lm_goldens() / "llama_dynamic");
  const GroupBatch batch({{1, ids_of(28, 1), {1, 2}},
                          {1, ids_of(28, 1), {3, 4, 5}},
                          {1, ids_of(28, 1), ids_of(7, 2)},
                          {1, ids_of(28, 1), ids_of(7, 3)}});

  EXPECT_EQ(rows_in(config, batch, true), 28 + 2 + 3 + 28 + 7 + 7);
}

}  // namespace
}  // namespace mgpu::lm
