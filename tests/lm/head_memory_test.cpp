// Tests that scoring and training need less than a quarter of the memory of all logits, [N, V],
// which would take 469 MiB here.
#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/process_memory.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

#include "support/sanitizers.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kTokens = 2048;
constexpr std::size_t kSequence = 64;
constexpr std::int64_t kVocab = 60'000;
constexpr std::uint64_t kMaxBytes = kTokens * kVocab * sizeof(float) / 4;

/// Returns the config of a Llama that consists mostly of its vocabulary.
LmConfig wide_config() {
  LmConfig config;
  config.family = "llama";
  config.vocab = kVocab;
  config.hidden_size = config.intermediate_size = config.head_dim = 8;
  config.heads = config.kv_heads = 1;
  config.max_positions = kTokens;
  config.layers = {{0, 1.0}};
  config.rope.kind = RopeKind::standard;
  return config;
}

class RandomSource : public WeightSource {
public:
  at::Tensor take(const std::string& /*name*/, const std::vector<std::int64_t>& shape) override {
    return at::randn(shape);
  }
};

/// Returns by how much the call raises the peak of memory.
template <class Call>
std::uint64_t growth_of(const Call& call) {
  const std::uint64_t before = host_peak_bytes();
  call();
  return host_peak_bytes() - before;
}

class HeadMemoryTest : public testing::Test {
protected:
  void SetUp() override {
    if (testing_support::kKeepsFreedMemory) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  }
};

TEST_F(HeadMemoryTest, ScoringNeverHasAllLogits) {
  RandomSource source;
  const LmConfig config = wide_config();
  const LanguageModel model(config, bind_weights(config, source));
  const at::Tensor hidden = at::randn({kTokens, config.hidden_size});
  const at::Tensor targets = at::arange(kTokens, at::kLong);

  EXPECT_LT(growth_of([&] { apply_head(model, hidden, targets, 8); }), kMaxBytes);
}

/// Sequences of kSequence tokens that all have a target.
struct WholeBatch {
  WholeBatch() : ids(kTokens) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int64_t>(i * 29 % kVocab);
    batch.targets = ids;
    for (std::size_t first = 0; first < ids.size(); first += kSequence)
      batch.spans.push_back({std::span(ids).subspan(first, kSequence)});
  }

  std::vector<std::int64_t> ids;
  LmBatch batch;
};

TEST_F(HeadMemoryTest, TrainingNeverHasAllLogits) {
  TrainableModel model(wide_config(), Device{}, 0);
  const WholeBatch whole;

  EXPECT_LT(growth_of([&] { model.add_gradients(whole.batch, 1.0); }), kMaxBytes);
}

TEST_F(HeadMemoryTest, TwoSweepsNeverHaveAllLogits) {
  class Weighted final : public SequenceLoss {
    SequenceTerm weigh(const MeasuredSequence&, const SequencePlace&) const override { return {}; }
  };
  TrainableModel model(wide_config(), Device{}, 0);
  WholeBatch whole;
  const Weighted loss;

  EXPECT_LT(growth_of([&] { model.measure(whole.batch, {.entropies = true, .temperature = 0.5}); }),
            kMaxBytes);
  whole.batch.slopes = BatchSlopes{.log_probs = std::vector<double>(kTokens, 0.5)};
  EXPECT_LT(growth_of([&] { model.add_gradients(whole.batch, {1.0, nullptr, &loss}); }), kMaxBytes);
  EXPECT_GT(model.parameters().gradients().abs().max().item<float>(), 0.0F);
}

// Checks the measurement itself: it would detect the complete logits.
TEST_F(HeadMemoryTest, AllLogitsWouldBeSeen) {
  const auto all = [] { at::full({kTokens, kVocab}, 1.0F); };

  EXPECT_GT(growth_of(all), 2 * kMaxBytes);
}

}  // namespace
}  // namespace mgpu::lm
