#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/lm_objective.hpp>
#include <mgpu/train/adamw.hpp>

#include "lm/made_folder.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kVocab = 40;
constexpr std::int64_t kStop = 2;
constexpr std::int64_t kSeqLen = 24;

/// Returns `count` prompts of 2 to 6 tokens with completions of 1 to 3 tokens. `shift` changes the
/// ids.
LmExamples prompts(std::int64_t count, std::int64_t shift = 0) {
  LmExamples examples;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t prompt = 2 + i % 5;
    const std::int64_t length = prompt + 1 + i % 3;
    for (std::int64_t t = 0; t < length; ++t) {
      examples.ids.push_back(3 + (7 * i + t * t + 3 * shift) % (kVocab - 3));
      examples.is_learned.push_back(t < prompt ? 0 : 1);
    }
    examples.ends.push_back(std::ssize(examples.ids));
  }
  return examples;
}

OnPolicyConfig drawing(double share) {
  OnPolicyConfig config;
  config.share = share;
  config.generation.sampling.is_greedy = false;
  config.generation.sampling.seed = 11;
  config.generation.max_new_tokens = 9;
  config.generation.stop_ids = {kStop};
  config.generation.batch_size = 4;
  return config;
}

/// Has a teacher in a folder, and a student of the same sizes with different weights.
class OnPolicyTest : public testing::Test {
protected:
  OnPolicyTest() : windows_(prompts(40), kSeqLen, 3, 9) {
    make_folder(folder_.path(), {.layers = 1,
                                 .width = 24,
                                 .inner = 32,
                                 .heads = 2,
                                 .kv_heads = 1,
                                 .vocab = static_cast<int>(kVocab)});
  }

  TrainableModel student(const TrainingOptions& options = {}) const {
    return {read_lm_config(folder_.path()), Device{}, 4, options};
  }

  const testing_support::TemporaryFolder folder_;
  LmWindows windows_;
};

/// Returns the drawn text of each example of the items in order. A text is empty if the student
/// learns the completion of the data.
std::vector<std::vector<std::int64_t>> found(const OnPolicyTexts& texts, const LmWindows& windows,
                                             std::uint64_t first, std::int64_t count) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::uint64_t item = first; item < first + static_cast<std::uint64_t>(count); ++item)
    for (const std::size_t example : windows.examples_of(windows.window_at(item))) {
      const OnPolicyTexts::Text* text = texts.find(item, example);
      all.push_back(text == nullptr ? std::vector<std::int64_t>{} : text->ids);
    }
  return all;
}

TEST_F(OnPolicyTest, TextsAreTheSameHoweverItemsAreSharedOut) {
  const TrainableModel model = student();
  OnPolicyTexts texts(drawing(0.5), windows_);
  texts.draw(model, 10, 8);
  const auto whole = found(texts, windows_, 10, 8);
  OnPolicyConfig others = drawing(0.5);
  others.generation.batch_size = 1;
  OnPolicyTexts apart(others, windows_);

  std::vector<std::vector<std::int64_t>> parts;
  for (const auto& [first, count] : {std::pair(10, 3), {13, 5}}) {
    apart.draw(model, static_cast<std::uint64_t>(first), count);
    for (auto& ids : found(apart, windows_, static_cast<std::uint64_t>(first), count))
      parts.push_back(std::move(ids));
  }

  EXPECT_EQ(parts, whole);
  const auto none =
      static_cast<std::size_t>(std::count(whole.begin(), whole.end(), std::vector<std::int64_t>{}));
  EXPECT_GT(none, 0U);
  EXPECT_LT(none, whole.size());
}

TEST_F(OnPolicyTest, TextsBeginWithThePromptAndEndWithAStopIdOrTheirLength) {
  OnPolicyTexts texts(drawing(1.0), windows_);
  const auto items = static_cast<std::int64_t>(windows_.size());
  texts.draw(student(), 0, items);

  std::set<std::int64_t> lengths;
  for (std::uint64_t item = 0; item < windows_.size(); ++item)
    for (const std::size_t example : windows_.examples_of(windows_.window_at(item))) {
      const OnPolicyTexts::Text* text = texts.find(item, example);
      ASSERT_NE(text, nullptr);
      EXPECT_EQ(text->prompt, windows_.examples().prompt_length(example));
      for (std::int64_t t = 0; t < text->prompt; ++t)
        EXPECT_EQ(text->ids[static_cast<std::size_t>(t)],
                  windows_.examples()
                      .ids[static_cast<std::size_t>(windows_.examples().begin(example) + t)]);
      EXPECT_GE(text->predictions(), 1);
      EXPECT_LE(std::ssize(text->ids), kSeqLen);
      if (text->ids.back() != kStop) {
        EXPECT_EQ(text->predictions(), 9);
      }
      lengths.insert(text->predictions());
    }
  EXPECT_GT(lengths.size(), 1U);
}

// The share 0.25 of 2000 texts is 500, with a standard deviation of 19.4.
TEST_F(OnPolicyTest, TheShareOfTheCompletionsIsDrawnAndOthersInEachEpoch) {
  OnPolicyConfig config = drawing(0.25);
  config.generation.max_new_tokens = 1;
  const LmWindows windows(prompts(1000), kSeqLen, 3, 1);
  OnPolicyTexts texts(config, windows);
  const auto epoch = static_cast<std::int64_t>(windows.size());
  texts.draw(student(), 0, 2 * epoch);

  std::vector<std::set<std::size_t>> drawn(2);
  for (std::uint64_t item = 0; item < 2 * windows.size(); ++item)
    for (const std::size_t example : windows.examples_of(windows.window_at(item)))
      if (texts.find(item, example) != nullptr) drawn[item / windows.size()].insert(example);
  EXPECT_NEAR(static_cast<double>(drawn[0].size() + drawn[1].size()), 500.0, 78.0);
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST_F(OnPolicyTest, ALimitOfTheWindowCutsATextAndKeepsItsBeginning) {
  const LmWindows narrow(prompts(40), 10, 3, 9);
  OnPolicyTexts cut(drawing(1.0), narrow);
  OnPolicyTexts whole(drawing(1.0), windows_);
  cut.draw(student(), 0, static_cast<std::int64_t>(narrow.size()));
  whole.draw(student(), 0, static_cast<std::int64_t>(windows_.size()));

  std::vector<std::vector<std::int64_t>> texts(40);
  for (std::uint64_t item = 0; item < windows_.size(); ++item)
    for (const std::size_t example : windows_.examples_of(windows_.window_at(item)))
      texts[example] = whole.find(item, example)->ids;
  for (std::uint64_t item = 0; item < narrow.size(); ++item)
    for (const std::size_t example : narrow.examples_of(narrow.window_at(item))) {
      const std::vector<std::int64_t>& ids = cut.find(item, example)->ids;
      EXPECT_LE(ids.size(), 10U);
      texts[example].resize(std::min<std::size_t>(texts[example].size(), 10));
      EXPECT_EQ(ids, texts[example]);
    }
}

/// Divergence and cross-entropy of a batch, from complete logits in float64.
struct DenseLoss {
  const TrainableModel& student;
  const LanguageModel& teacher;
  const at::Tensor teacher_head;

  double loss(const LmBatch& batch, double ce_weight) const {
    const LanguageModel decoder = student.decoder();
    const at::Tensor head = student.parameters().parameter("lm_head.weight").detach();
    const at::Tensor log_q = logits(decoder, batch, head).log_softmax(1);
    const at::Tensor log_p = logits(teacher, batch, teacher_head).log_softmax(1);
    double sum = 0.0;
    for (std::size_t n = 0; n < batch.targets.size(); ++n) {
      if (batch.targets[n] == kernels::kIgnoreTarget) continue;
      const auto row = static_cast<std::int64_t>(n);
      sum +=
          (1.0 - ce_weight) * (log_p[row].exp() * (log_p[row] - log_q[row])).sum().item<double>();
      if (batch.token_columns.at(kDrawnColumn)[n] == 0.0)
        sum -= ce_weight * log_q[row][batch.targets[n]].item<double>();
    }
    return sum;
  }

  static at::Tensor logits(const LanguageModel& model, const LmBatch& batch,
                           const at::Tensor& head) {
    return model.hidden(batch.spans).to(at::kDouble).matmul(head.to(at::kDouble).t());
  }
};

TEST_F(OnPolicyTest, TheLossIsThatOfDrawnTokensUnderTheTeacherAndOfOtherTokensWithTheData) {
  const LanguageModel teacher = LanguageModel::open(folder_.path());
  const LmWeights of_teacher = load_weights(teacher.config(), formats::WeightFiles(folder_.path()));
  for (const double share : {0.5, 1.0}) {
    const ResidentTeacherLoss loss({.ce_weight = 0.3}, teacher);
    WindowItems items(windows_, {.on_policy = drawing(share)});
    TrainableModel model = student();
    PhaseClock clock;
    LmObjective objective(model, items, loss, clock);
    ASSERT_TRUE(objective.makes_items());
    objective.prepare(0, 4);
    OnPolicyTexts texts(drawing(share), windows_);
    texts.draw(model, 0, 4);
    LmBatch batch;
    for (std::uint64_t item = 0; item < 4; ++item)
      for (const std::size_t example : windows_.examples_of(windows_.window_at(item))) {
        const OnPolicyTexts::Text* text = texts.find(item, example);
        if (text == nullptr) {
          windows_.append_example(example, batch);
        } else {
          batch.spans.push_back({text->ids});
          for (std::int64_t t = 0; t < std::ssize(text->ids); ++t)
            batch.targets.push_back(t + 1 < text->prompt || t + 1 == std::ssize(text->ids)
                                        ? kernels::kIgnoreTarget
                                        : text->ids[static_cast<std::size_t>(t + 1)]);
        }
        batch.token_columns[kDrawnColumn].resize(batch.targets.size(), text == nullptr ? 0.0 : 1.0);
      }
    const auto learned =
        std::ssize(batch.targets) -
        std::count(batch.targets.begin(), batch.targets.end(), kernels::kIgnoreTarget);

    const train::PassSums sums = objective.add_gradients(0, 4, 1.0);

    EXPECT_EQ(objective.predictions(0, 4), learned);
    EXPECT_EQ(sums.predictions, learned);
    const double expected = DenseLoss{model, teacher, of_teacher.head.weight}.loss(batch, 0.3);
    EXPECT_NEAR(sums.loss, expected, 1e-5 * expected);
  }
}

TEST_F(OnPolicyTest, AStudentThatLearnsFromItsOwnTextsComesNearerToTheTeacherOnOthers) {
  const LanguageModel teacher = LanguageModel::open(folder_.path());
  const ResidentTeacherLoss divergence({}, teacher);
  WindowItems items(windows_, {.on_policy = drawing(1.0)});
  TrainableModel model = student();
  const LmWindows other(prompts(60, 5), kSeqLen, 3);
  LmBatch held_out;
  for (std::size_t w = 0; w < other.size(); ++w)
    other.append(w, held_out);
  PhaseClock clock;
  LmObjective objective(model, items, divergence, clock);
  train::Adamw optimizer(model.parameters(), {});
  const LmSums before = model.loss(held_out, divergence);

  for (std::uint64_t step = 0; step < 120; ++step) {
    model.parameters().zero_gradients();
    objective.prepare(step * 4, 4);
    const auto count = static_cast<double>(objective.predictions(step * 4, 4));
    objective.add_gradients(step * 4, 4, 1.0 / count);
    ASSERT_TRUE(optimizer.step(1e-2).is_applied);
  }

  EXPECT_LT(model.loss(held_out, divergence).loss, 0.6 * before.loss);
}

TEST_F(OnPolicyTest, WhatCannotBeDrawnIsRefused) {
  EXPECT_THROW(OnPolicyTexts(drawing(0.0), windows_), Error);
  EXPECT_THROW(OnPolicyTexts(drawing(1.5), windows_), Error);
  const TrainableModel exact = student({.dtype = DType::f64});
  EXPECT_THROW(exact.decoder(), Error);
}

TEST(LmExamplesTest, APromptEndsWhereTheLastLearnedStretchBegins) {
  LmExamples examples;
  examples.ids = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  examples.is_learned = {0, 1, 1, 0, 0, 1, 0, /**/ 1, 1};
  examples.ends = {7, 9};

  EXPECT_EQ(examples.prompt_length(0), 5);
  EXPECT_EQ(examples.prompt_length(1), 0);
  EXPECT_EQ(examples.predictions(0), 3);
  EXPECT_EQ(examples.predictions(1), 1);
}

TEST(LmExamplesTest, WindowsKeepRoomForCompletions) {
  const LmWindows windows(prompts(40), kSeqLen, 3, 9);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    std::int64_t room = 0;
    for (const std::size_t example : windows.examples_of(w))
      room += windows.examples().prompt_length(example) + 9;
    EXPECT_LE(room, kSeqLen);
  }
}

}  // namespace
}  // namespace mgpu::lm
