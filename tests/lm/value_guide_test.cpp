// Tests guided generation with value models: separate forwards, batches, offsets of 0, and folders
// that are no value models.
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/decode/value_guide.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "classifier_writer.hpp"
#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using testing_support::TemporaryFolder;

constexpr ValueHead kBernoulli{};
constexpr ValueHead kHistogram{
    .kind = ValueKind::histogram, .outputs = 5, .lowest = 0.0, .highest = 2.0};

/// A value model, opened from a folder with the weights of a golden model.
struct MadeValues {
  MadeValues(const std::string& family, const ValueHead& head, double spread)
      : trained(write_value_folder(testing_support::lm_goldens() / family, head, spread,
                                   folder.path())),
        model(ValueModel::open(folder.path())) {}

  TemporaryFolder folder;
  TrainableModel trained;
  ValueModel model;
};

GenerationConfig config_of(bool is_greedy) {
  GenerationConfig config;
  config.sampling = {.is_greedy = is_greedy, .temperature = 0.9, .seed = 3};
  config.max_new_tokens = 8;
  config.page_tokens = 4;
  config.batch_size = 5;
  return config;
}

/// Returns ids and bits of log-probabilities of all completions.
std::vector<std::vector<std::int64_t>> generate(const LanguageModel& model,
                                                const GenerationConfig& config,
                                                const std::vector<Ids>& ids) {
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], 2});
  std::vector<std::vector<std::int64_t>> all;
  for (const PromptResult& result : Generator(model, config).run(prompts))
    for (const Completion& completion : result.completions) {
      all.push_back(completion.ids);
      for (const float log_prob : completion.log_probs)
        all.back().push_back(std::bit_cast<std::int32_t>(log_prob));
    }
  return all;
}

/// Passes all calls on to a guide, and compares its offsets with those of separate forwards.
class Compared final : public CandidateProcessor {
public:
  Compared(ValueGuide& guide, const ValueModel& values, const GuideSettings& settings)
      : guide_(guide), values_(values), settings_(settings) {}

  void begins(const PoolDemand& demand) override { guide_.begins(demand); }
  void added(std::int64_t sequence) override {
    sequences_[sequence].clear();
    guide_.added(sequence);
  }
  void forked(std::int64_t origin, std::int64_t copy, std::int64_t tokens) override {
    sequences_[copy].assign(sequences_[origin].begin(), sequences_[origin].begin() + tokens);
    guide_.forked(origin, copy, tokens);
  }
  void given(std::int64_t sequence, const GivenTokens& tokens) override {
    append(sequence, tokens.ids);
    guide_.given(sequence, tokens);
  }
  void drawn(std::span<const DrawSite> rows, const at::Tensor& ids) override {
    for (std::size_t n = 0; n < rows.size(); ++n)
      append(rows[n].sequence, {{ids[static_cast<std::int64_t>(n)].item<std::int64_t>()}});
    guide_.drawn(rows, ids);
  }
  void dropped(std::int64_t sequence) override { guide_.dropped(sequence); }
  void reset() override { guide_.reset(); }
  std::int64_t candidates() const override { return guide_.candidates(); }

  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& logits) override {
    const at::Tensor offsets = guide_.offsets(rows, ids, logits);
    // Values on a GPU may differ by 1e-5.
    const double tolerance = tensor::runs_on_gpu(offsets) ? 1e-5 / settings_.eta : 0;
    for (std::size_t n = 0; n < rows.size(); ++n)
      for (std::int64_t k = 0; k < ids.size(1); ++k) {
        const auto row = static_cast<std::int64_t>(n);
        Ids tokens = sequences_.at(rows[n].sequence);
        tokens.push_back(ids[row][k].item<std::int64_t>());
        EXPECT_NEAR(offsets[row][k].item<float>(), offset_after(tokens), tolerance);
        ++compared;
      }
    return offsets;
  }

  int compared = 0;

private:
  float offset_after(const Ids& tokens) const {
    const at::Tensor outputs =
        values_.outputs(hidden_of(values_.backbone(), tokens).narrow(0, std::ssize(tokens) - 1, 1))
            .to(at::kDouble);
    return static_cast<float>(guide_offset(
        settings_, values_.head(),
        {outputs.const_data_ptr<double>(), static_cast<std::size_t>(outputs.numel())}));
  }

  void append(std::int64_t sequence, std::span<const std::int64_t> ids) {
    sequences_[sequence].insert(sequences_[sequence].end(), ids.begin(), ids.end());
  }

  ValueGuide& guide_;
  const ValueModel& values_;
  GuideSettings settings_;
  std::map<std::int64_t, Ids> sequences_{};  // the tokens of each, by its number
};

TEST(ValueGuideTest, AllCandidatesInOnePassAreSeparateForwards) {
  const LanguageModel model = open_golden("llama");
  std::vector<Ids> ids = make_prompts(4);
  for (Ids& prompt : ids)  // a shared prefix
    prompt.insert(prompt.begin(), {5, 10, 15, 20, 25, 30, 35, 40, 45});
  for (const ValueHead& head : {kBernoulli, kHistogram}) {
    const MadeValues values("qwen2", head, 0.5);
    const GuideSettings settings{.eta = 0.2, .candidates = 6};
    ValueGuide guide(values.model, settings);
    Compared compared(guide, values.model, settings);
    GenerationConfig config = config_of(/*is_greedy=*/false);
    config.processors.candidate = &compared;
    config.max_new_tokens = 4;

    generate(model, config, ids);

    EXPECT_EQ(compared.compared, 4 * 2 * 4 * 6);
  }
}

class GuidedFamilyTest : public testing::TestWithParam<const char*> {};

TEST_P(GuidedFamilyTest, TokensDoNotDependOnTheBatchAndTheCacheGrows) {
  const LanguageModel model = open_golden("llama");
  const MadeValues values(GetParam(), kBernoulli, 1.0);
  ValueGuide guide(values.model, {.kind = GuideKind::pita, .eta = 0.5, .candidates = 8});
  const std::vector<Ids> ids = make_prompts(5);
  for (const bool is_greedy : {true, false}) {
    GenerationConfig config = config_of(is_greedy);
    const auto plain = generate(model, config, ids);
    config.processors.candidate = &guide;
    config.batch_size = 1;
    generate(model, config, {ids[0]});
    const auto expected = generate(model, config, ids);
    EXPECT_NE(expected, plain);
    for (const std::int64_t batch : {2, 16}) {
      config.batch_size = batch;
      config.prefill_tokens = batch == 2 ? 3 : 512;

      EXPECT_EQ(generate(model, config, ids), expected) << batch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GuidedFamilyTest, testing::Values("gpt2", "mistral", "qwen2"),
                         [](const auto& entry) { return std::string(entry.param); });

/// Returns a prompt of `tokens` tokens, the first of which is `first`.
Ids long_prompt(std::int64_t first, std::int64_t tokens) {
  Ids ids{first};
  for (std::int64_t i = 1; i < tokens; ++i)
    ids.push_back(5 + (first + i) % 30);
  return ids;
}

// The rotation of the value model depends on the length of prompts with more than 32 tokens.
TEST(ValueGuideTest, WithADynamicRotationPromptsShareNoPrefix) {
  const LanguageModel model = open_golden("llama");
  const MadeValues values("llama_dynamic", kBernoulli, 1.0);
  ValueGuide guide(values.model, {.kind = GuideKind::pita, .eta = 0.1, .candidates = 8});
  GenerationConfig config = config_of(/*is_greedy=*/false);
  config.processors.candidate = &guide;

  const auto same_beginning = generate(model, config, {long_prompt(5, 48), long_prompt(5, 40)});
  const auto others = generate(model, config, {long_prompt(6, 48), long_prompt(5, 40)});

  ASSERT_EQ(others.size(), 4U);
  EXPECT_EQ(same_beginning[2], others[2]);
  EXPECT_EQ(same_beginning[3], others[3]);
}

TEST(ValueGuideTest, ValuesOfEvenOddsGiveTheTokensOfTheReference) {
  const LanguageModel model = open_golden("llama");
  const MadeValues values("qwen2", kBernoulli, 0.0);  // all logits are 0
  ValueGuide guide(values.model, {.kind = GuideKind::pita, .eta = 0.1, .candidates = 20});
  const std::vector<Ids> ids = make_prompts(4);
  for (const bool is_greedy : {true, false}) {
    GenerationConfig config = config_of(is_greedy);
    const auto expected = generate(model, config, ids);
    config.processors.candidate = &guide;

    EXPECT_EQ(generate(model, config, ids), expected);
  }
}

// All tokens of the vocabulary are candidates, so a guide may prefer any of them.
TEST(ValueGuideTest, GreedyTokensAreTheArgmaxOfLogitsWithOffsets) {
  const LanguageModel model = open_golden("llama");
  const MadeValues values("qwen2", kBernoulli, 1.0);
  const GuideSettings settings{.kind = GuideKind::qsharp, .eta = 0.05, .candidates = 67};
  ValueGuide guide(values.model, settings);
  GenerationConfig config = config_of(/*is_greedy=*/true);
  config.processors.candidate = &guide;
  Ids tokens = {4, 8, 15, 16, 23, 42};
  const Prompt prompt{0, tokens};

  const Ids drawn = Generator(model, config).run({&prompt, 1})[0].completions[0].ids;

  Ids sequence = tokens;
  for (const std::int64_t token : drawn) {
    const HeadResult head = apply_head(
        model, hidden_of(model, sequence).narrow(0, std::ssize(sequence) - 1, 1), {}, 67);
    std::int64_t best = -1;
    float most = -INFINITY;
    for (std::int64_t k = 0; k < 67; ++k) {
      Ids longer = sequence;
      longer.push_back(head.best_ids[0][k].item<std::int64_t>());
      const at::Tensor z =
          values.model
              .outputs(
                  hidden_of(values.model.backbone(), longer).narrow(0, std::ssize(longer) - 1, 1))
              .to(at::kDouble);
      const float tilted =
          head.best_logits[0][k].item<float>() +
          static_cast<float>(guide_offset(settings, kBernoulli, {z.const_data_ptr<double>(), 1}));
      if (tilted > most) {
        most = tilted;
        best = longer.back();
      }
    }
    EXPECT_EQ(token, best);
    sequence.push_back(token);
  }
}

/// Returns how many host reads a run makes. All completions have the same number of tokens.
std::int64_t reads_of(const LanguageModel& model, const GenerationConfig& config) {
  const std::int64_t before = tensor::read_backs();
  generate(model, config, make_prompts(4));
  return tensor::read_backs() - before;
}

TEST(ValueGuideTest, AGuidedRunReadsAsOftenAsAnUnguidedOne) {
  LanguageModel model = open_golden("llama");
  const MadeValues values("qwen2", kBernoulli, 1.0);
  for (const std::int64_t steps : {1, 4}) {
    PassSizes sizes = model.sizes();
    sizes.steps_per_read = steps;
    model.set_sizes(sizes);
    for (const SamplingConfig& sampling :
         {SamplingConfig{}, SamplingConfig{.is_greedy = false, .temperature = 0.9},
          SamplingConfig{.is_greedy = false, .top_k = 9},
          SamplingConfig{.is_greedy = false, .top_p = 0.8},
          SamplingConfig{.is_greedy = false, .top_k = 9, .repetition_penalty = 1.2}}) {
      GenerationConfig config = config_of(true);
      config.sampling = sampling;
      const std::int64_t unguided = reads_of(model, config);
      ValueGuide guide(values.model, {.kind = GuideKind::pita, .eta = 0.5, .candidates = 8});
      config.processors.candidate = &guide;

      EXPECT_EQ(reads_of(model, config), unguided) << steps << " " << sampling.top_k;
    }
  }
}

TEST(ValueModelTest, OutputsAreThoseOfTheTrainedModelAndHeadsAreRead) {
  const Ids ids = make_ids(9, 2);
  for (const ValueHead& head : {kBernoulli, kHistogram}) {
    const MadeValues values("llama", head, 0.7);
    EXPECT_EQ(values.model.head(), head);
    LmBatch batch{{{ids}}, {ids.begin() + 1, ids.end()}};
    batch.targets.push_back(-100);
    const std::vector<double> trained =
        values.trained.measure(batch, {.log_probs = false, .head_rows = HeadRows::reached}).head;
    const at::Tensor outputs =
        values.model.outputs(hidden_of(values.model.backbone(), ids)).narrow(0, 1, 8).reshape({-1});
    ASSERT_EQ(std::ssize(trained), outputs.numel());
    for (std::int64_t i = 0; i < outputs.numel(); ++i)
      EXPECT_NEAR(outputs[i].item<float>(), trained[static_cast<std::size_t>(i)], 1e-5);
  }
}

/// Returns the message of the failure that opening the folder gives.
std::string refusal(const fs::path& folder) {
  try {
    ValueModel::open(folder);
  } catch (const Failure& failure) {
    return failure.report().sentence;
  }
  return "";
}

TEST(ValueModelTest, FoldersOfOtherModelsAreRefused) {
  const fs::path golden = testing_support::lm_goldens() / "llama";
  EXPECT_NE(refusal(golden).find("the folder has no value model"), std::string::npos);
  const TemporaryFolder folder;
  const LmConfig config = read_lm_config(golden);
  const TrainableModel model(config, Device{}, 7,
                             {.head = classifier_head(config, Classified::tokens, 3)});
  write_folder(model, classifier_files(golden, Classified::tokens, 3), folder.path());
  EXPECT_NE(refusal(folder.path()).find("the classifier has 3 outputs"), std::string::npos)
      << refusal(folder.path());
  CompanionFiles files = classifier_files(golden, Classified::tokens, 3);
  files["config.json"] = with_value_head(golden, files["config.json"], kHistogram);
  const TemporaryFolder other;
  write_folder(model, files, other.path());
  EXPECT_NE(refusal(other.path()).find("its value_head has 5 outputs, the classifier 3"),
            std::string::npos)
      << refusal(other.path());
}

TEST(ValueModelTest, AFolderHasOneHead) {
  const fs::path path = testing_support::lm_goldens() / "llama" / "config.json";
  const std::string judge = with_step_head(path, "{}", {});
  const std::string guide = with_value_head(path, judge, kHistogram);

  EXPECT_NE(judge.find("step_head"), std::string::npos);
  EXPECT_EQ(guide.find("step_head"), std::string::npos) << guide;
  EXPECT_EQ(with_step_head(path, guide, {}), judge);
}

}  // namespace
}  // namespace mgpu::lm
