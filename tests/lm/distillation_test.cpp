#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <support/temporary_folder.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

#include "distillation_reference.hpp"
#include "lm/training/distill_loss.hpp"
#include "made_folder.hpp"

// Shapes: N tokens, V vocabulary, D width.
namespace mgpu::lm {
namespace {

constexpr std::int64_t kIgnore = kernels::kIgnoreTarget;

/// Hidden states, head and data of a pass, in float64.
struct Pass {
  Pass(std::int64_t tokens, std::int64_t vocab) {
    at::manual_seed(5);
    hidden = at::randn({tokens, 12}, at::kDouble);
    weight = at::randn({vocab, 12}, at::kDouble);
    targets = at::randint(vocab, {tokens}, at::kLong);
  }

  at::Tensor hidden;   // [N, D]
  at::Tensor weight;   // [V, D]
  at::Tensor targets;  // [N]

  /// Returns the loss of the tokens that have a target, for autograd.
  at::Tensor dense_loss(const Distillation& how, const TeacherTargets& teacher) const {
    const at::Tensor logits = hidden.matmul(weight.t());
    const at::Tensor log_probs = (logits / how.temperature).log_softmax(1);
    const at::Tensor data = -logits.log_softmax(1).gather(1, targets.unsqueeze(1)).sum();
    return how.ce_weight * data + (1.0 - how.ce_weight) * how.temperature * how.temperature *
                                      divergence(how, classes_of(teacher, log_probs));
  }
};

void expect_equal(const at::Tensor& made, const at::Tensor& expected) {
  const double scale = expected.abs().max().item<double>();
  EXPECT_LT((made - expected).abs().max().item<double>(), 1e-11 * scale);
}

/// Returns all divergences, each with several weights of the cross-entropy and temperatures.
std::vector<Distillation> ways() {
  std::vector<Distillation> result;
  for (const Divergence kind :
       {Divergence::forward_kl, Divergence::reverse_kl, Divergence::jsd, Divergence::cross_entropy})
    for (const auto& [weight, temperature] : {std::pair(0.0, 1.0), {0.3, 1.0}, {0.3, 2.0}})
      result.push_back({kind, 0.3, weight, temperature});
  return result;
}

// 9000 tokens are three blocks of the vocabulary; the last one is smaller.
TEST(DistillationTest, StoredTargetsHaveTheLossAndTheGradientOfAutograd) {
  const at::Tensor probs = teacher_logits(7, 9000, 3).softmax(1);
  for (const bool has_tail : {true, false}) {
    const TeacherTargets teacher = best_of(probs, 40, has_tail);
    for (const Distillation& how : ways()) {
      if (!has_tail && how.divergence == Divergence::reverse_kl) continue;  // infinite
      Pass pass(7, 9000);
      grad::HeadGradients gradients;

      const LmSums sums =
          grad::head_loss({pass.hidden, pass.weight, pass.targets, tensor::ComputeKind::f32},
                          grad::stored_loss(how, teacher), 0.5, &gradients);

      pass.hidden.requires_grad_(true);
      pass.weight.requires_grad_(true);
      const at::Tensor loss = pass.dense_loss(how, teacher);
      EXPECT_NEAR(sums.loss, loss.item<double>(), 1e-11 * loss.item<double>());
      EXPECT_EQ(sums.predictions, 7);
      const double data = -pass.hidden.matmul(pass.weight.t())
                               .log_softmax(1)
                               .gather(1, pass.targets.unsqueeze(1))
                               .sum()
                               .item<double>();
      EXPECT_NEAR(sums.cross_entropy, data, 1e-11 * data);
      const auto expected = torch::autograd::grad({loss * 0.5}, {pass.hidden, pass.weight});
      expect_equal(gradients.hidden, expected[0]);
      expect_equal(gradients.weight, expected[1]);
    }
  }
}

// The central difference (f(z + h) - f(z - h)) / 2h in float64 has an error of h^2 f''' / 6 + 2^-53
// f / h, about 1e-9 at h = 1e-5.
TEST(DistillationTest, StoredTargetsHaveTheGradientOfFiniteDifferences) {
  const TeacherTargets teacher = best_of(teacher_logits(3, 50, 8).softmax(1), 6, true);
  const at::Tensor head = at::eye(50, at::kDouble);  // makes hidden states the logits
  const at::Tensor targets = at::tensor({4, 49, 0}, at::kLong);
  for (const Distillation& how : ways()) {
    at::manual_seed(6);
    const at::Tensor logits = at::randn({3, 50}, at::kDouble);
    const auto loss = [&](grad::HeadGradients* gradients) {
      return grad::head_loss({logits, head, targets, tensor::ComputeKind::f32},
                             grad::stored_loss(how, teacher), 1.0, gradients)
          .loss;
    };
    grad::HeadGradients gradients;
    loss(&gradients);
    for (std::int64_t i = 0; i < logits.numel(); i += 7) {
      double* value = logits.view(-1).mutable_data_ptr<double>() + i;
      const double before = *value;
      *value = before + 1e-5;
      const double above = loss(nullptr);
      *value = before - 1e-5;
      const double below = loss(nullptr);
      *value = before;
      EXPECT_NEAR(gradients.hidden.view(-1)[i].item<double>(), (above - below) / 2e-5, 1e-8);
    }
  }
}

TEST(DistillationTest, AStudentThatHasLostTheTailKeepsAFiniteGradient) {
  const TeacherTargets teacher = best_of(teacher_logits(1, 100, 2).softmax(1), 4, true);
  at::Tensor logits = at::full({1, 100}, -200.0, at::kFloat);  // exp(-400) underflows
  for (const std::int64_t id : teacher.ids)
    logits[0][id] = 200.0;
  grad::HeadGradients gradients;

  const LmSums sums =
      grad::head_loss({logits, at::eye(100), at::tensor({3}, at::kLong), tensor::ComputeKind::f32},
                      grad::stored_loss({}, teacher), 1.0, &gradients);

  EXPECT_TRUE(std::isfinite(sums.loss));
  EXPECT_TRUE(gradients.hidden.isfinite().all().item<bool>());
  EXPECT_LT(gradients.hidden.min().item<float>(), -0.001F);  // a descent step raises the tail
}

TEST(DistillationTest, TokensWithoutATargetHaveNoLoss) {
  const at::Tensor probs = teacher_logits(6, 80, 3).softmax(1);
  const TeacherTargets all = best_of(probs, 5, true);
  const TeacherTargets some = best_of(probs.narrow(0, 2, 1), 5, true);
  Pass pass(6, 80);
  const auto loss = [&](const at::Tensor& hidden, const at::Tensor& targets,
                        const TeacherTargets& teacher) {
    return grad::head_loss({hidden, pass.weight, targets, tensor::ComputeKind::f32},
                           grad::stored_loss({}, teacher), 1.0, nullptr);
  };

  const LmSums sums = loss(
      pass.hidden, at::tensor({kIgnore, kIgnore, std::int64_t{7}, kIgnore, kIgnore, kIgnore}), all);

  EXPECT_EQ(sums.predictions, 1);
  EXPECT_DOUBLE_EQ(sums.loss,
                   loss(pass.hidden.narrow(0, 2, 1), at::tensor({7}, at::kLong), some).loss);
}

double cosine(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum().item<double>() / (a.norm() * b.norm()).item<double>();
}

// arXiv 2503.16870, figure 3, shows angles to the gradient of all tokens: 4 degrees for draws, and
// 58 degrees for the top 12.
TEST(DistillationTest, GradientsOfDrawsPointWhereThoseOfAllTokensDoAndTop12DoesNot) {
  constexpr std::int64_t kRows = 400;  // of one distribution, each with separate draws
  constexpr std::int64_t kVocab = 500;
  at::manual_seed(11);
  const at::Tensor probs =
      at::arange(1, kVocab + 1, at::kDouble).pow(-1.0).log().softmax(0).expand({kRows, kVocab});
  // The student is already close to the teacher.
  const at::Tensor logits = probs.log() + at::randn({1, kVocab}, at::kDouble) * 0.3;
  const at::Tensor targets = at::zeros({kRows}, at::kLong);
  const at::Tensor head = at::eye(kVocab, at::kDouble);
  const auto mean_gradient = [&](const TeacherTargets& teacher, Divergence kind) {
    const Distillation how{kind, 0.5, 0.0, 1.0};
    grad::HeadGradients gradients;
    grad::head_loss({logits, head, targets, tensor::ComputeKind::f32},
                    grad::stored_loss(how, teacher), 1.0 / kRows, &gradients);
    return gradients.hidden.sum(0);
  };
  const at::Tensor full = (logits.softmax(1) - probs).mean(0);

  const TeacherTargets draws = drawn_of(probs, 50);
  const at::Tensor of_draws = mean_gradient(draws, Divergence::cross_entropy);
  const at::Tensor of_best = mean_gradient(best_of(probs, 12, false), Divergence::forward_kl);

  EXPECT_GT(cosine(of_draws, full), 0.98);
  EXPECT_NEAR(of_draws.norm().item<double>() / full.norm().item<double>(), 1.0, 0.1);
  EXPECT_LT(cosine(of_best, full), 0.6);
  EXPECT_GT(of_best.norm().item<double>(), 1.3 * full.norm().item<double>());
}

/// Has a teacher in a folder and a student of another width with the same vocabulary.
class ResidentTeacherTest : public testing::Test {
protected:
  static constexpr std::int64_t kVocab = 9000;

  ResidentTeacherTest() {
    make_folder(folder_.path(), {.layers = 2, .vocab = kVocab});
    make_folder(
        student_folder_.path(),
        {.layers = 1, .width = 24, .inner = 32, .heads = 2, .kv_heads = 1, .vocab = kVocab});
  }

  TrainableModel student(DType dtype = DType::f32) const {
    TrainableModel model(read_lm_config(student_folder_.path()), Device{}, 4, {.dtype = dtype});
    model.load(formats::WeightFiles(student_folder_.path()));
    return model;
  }

  LmBatch batch() const {
    LmBatch batch;
    batch.spans = {{std::span(ids_).first(5)}, {std::span(ids_).last(3)}};
    batch.targets = {17, kIgnore, 8000, 4, kIgnore, 4032, 0, kIgnore};
    return batch;
  }

  const testing_support::TemporaryFolder folder_;
  const testing_support::TemporaryFolder student_folder_;
  const std::vector<std::int64_t> ids_ = {1, 17, 4031, 8000, 4, 2, 4032, 0};
};

TEST_F(ResidentTeacherTest, SaysWhatTargetsOfAllItsTokensSay) {
  const LanguageModel teacher = LanguageModel::open(folder_.path());
  LmBatch stored = batch();
  const LmWeights weights = load_weights(teacher.config(), formats::WeightFiles(folder_.path()));
  const at::Tensor logits = teacher.hidden(stored.spans).matmul(weights.head.weight.t());
  for (const Distillation& how : ways()) {
    const at::Tensor probs = (logits.to(at::kDouble) / how.temperature).softmax(1);
    stored.token_lists[kTeacherLists] = best_of(probs, kVocab, false);
    TrainableModel a = student();
    TrainableModel b = student();
    const StoredTargetLoss stored_loss(how);
    const ResidentTeacherLoss resident_loss(how, teacher);
    const LmSums of_stored = a.add_gradients(stored, {1.0, nullptr, &stored_loss});

    const LmSums sums = b.add_gradients(batch(), {1.0, nullptr, &resident_loss});

    EXPECT_EQ(sums.predictions, 5);
    EXPECT_EQ(sums.correct, of_stored.correct);
    EXPECT_NEAR(sums.loss, of_stored.loss, 1e-4 * of_stored.loss);
    const at::Tensor gradients = a.parameters().gradients();
    const double scale = gradients.abs().max().item<double>();
    EXPECT_LT((b.parameters().gradients() - gradients).abs().max().item<double>(), 1e-4 * scale);
  }
}

// The vocabularies of a model family often differ in unused ids at the end.
TEST_F(ResidentTeacherTest, ComparesTheIdsThatBothHave) {
  for (const int vocab : {9200, 8800, 8050}) {
    const testing_support::TemporaryFolder folder;
    make_folder(folder.path(), {.layers = 2, .vocab = vocab});
    const LanguageModel teacher = LanguageModel::open(folder.path());
    const std::int64_t common = std::min<std::int64_t>(vocab, kVocab);
    const LmWeights weights = load_weights(teacher.config(), formats::WeightFiles(folder.path()));
    const at::Tensor head = weights.head.weight.narrow(0, 0, common);
    const at::Tensor hidden = teacher.hidden(batch().spans);
    at::manual_seed(3);
    Pass pass(8, kVocab);
    pass.targets = at::tensor(batch().targets, at::kLong);
    const at::Tensor rows = at::tensor({0, 2, 3, 5, 6}, at::kLong);  // those with a target
    for (const Distillation& how : ways()) {
      const at::Tensor log_p =
          (hidden.index_select(0, rows).matmul(head.t()).to(at::kDouble) / how.temperature)
              .log_softmax(1);
      pass.hidden.requires_grad_(true);
      const at::Tensor logits = pass.hidden.index_select(0, rows).matmul(pass.weight.t());
      const at::Tensor log_q = (logits.narrow(1, 0, common) / how.temperature).log_softmax(1);
      const at::Tensor data =
          -logits.log_softmax(1).gather(1, pass.targets.index_select(0, rows).unsqueeze(1)).sum();
      const at::Tensor loss = how.ce_weight * data + (1.0 - how.ce_weight) * how.temperature *
                                                         how.temperature *
                                                         divergence(how, {log_p, log_q});
      const at::Tensor expected = torch::autograd::grad({loss}, {pass.hidden})[0];
      pass.hidden = pass.hidden.detach();
      grad::HeadGradients gradients;

      const LmSums sums =
          grad::head_loss({pass.hidden, pass.weight, pass.targets, tensor::ComputeKind::f32},
                          grad::resident_loss(how, {teacher, hidden}), 1.0, &gradients);

      EXPECT_NEAR(sums.loss, loss.item<double>(), 1e-6 * loss.item<double>());
      EXPECT_LT((gradients.hidden - expected).abs().max().item<double>(),
                1e-5 * expected.abs().max().item<double>());
    }
  }
}

TEST_F(ResidentTeacherTest, HasTheGradientOfFiniteDifferences) {
  const LanguageModel teacher = LanguageModel::open(folder_.path());
  for (const Distillation& how : ways()) {
    const ResidentTeacherLoss loss(how, teacher);
    TrainableModel model = student(DType::f64);
    model.add_gradients(batch(), {1.0, nullptr, &loss});
    for (std::size_t p = 0; p < model.parameters().size(); ++p) {
      const at::Tensor flat = model.parameters().parameter(p).detach().view(-1);
      double* value = flat.mutable_data_ptr<double>() + flat.numel() / 3;
      const double before = *value;
      *value = before + 1e-5;
      const double above = model.loss(batch(), loss).loss;
      *value = before - 1e-5;
      const double below = model.loss(batch(), loss).loss;
      *value = before;
      const double gradient =
          model.parameters().gradient(p).reshape(-1)[flat.numel() / 3].item<double>();
      EXPECT_NEAR(gradient, (above - below) / 2e-5, 1e-7) << model.parameters().spec(p).name;
    }
  }
}

// The student draws some tokens of the batch, which have no cross-entropy. So the loss is that with
// cross-entropy everywhere, minus the weighted cross-entropy of the drawn tokens.
TEST_F(ResidentTeacherTest, DrawnTokensHaveNoCrossEntropy) {
  const LanguageModel teacher = LanguageModel::open(folder_.path());
  LmBatch mixed = batch();
  mixed.token_columns[kDrawnColumn] = {1, 0, 0, 1, 0, 0, 1, 0};
  LmBatch drawn = batch();
  for (std::size_t n = 0; n < drawn.targets.size(); ++n)
    if (mixed.token_columns[kDrawnColumn][n] == 0.0) drawn.targets[n] = kIgnore;
  for (const Distillation& how : ways()) {
    const ResidentTeacherLoss loss(how, teacher);
    TrainableModel a = student(DType::f64);
    TrainableModel b = student(DType::f64);
    const LmSums all = b.add_gradients(batch(), {1.0, nullptr, &loss});
    const LmSums data = b.add_gradients(drawn, {-how.ce_weight, nullptr, nullptr});

    const LmSums sums = a.add_gradients(mixed, {1.0, nullptr, &loss});

    EXPECT_EQ(sums.predictions, 5);
    EXPECT_NEAR(sums.loss, all.loss - how.ce_weight * data.loss, 1e-12 * all.loss);
    expect_equal(a.parameters().gradients(), b.parameters().gradients());
  }
  mixed.token_columns[kDrawnColumn].pop_back();
  const ResidentTeacherLoss loss({}, teacher);
  TrainableModel model = student();
  EXPECT_THROW(model.add_gradients(mixed, {1.0, nullptr, &loss}), ShapeError);
}

TEST_F(ResidentTeacherTest, TargetsThatDoNotFitAreRefused) {
  TrainableModel model = student();
  const StoredTargetLoss loss{{}};
  const LmBatch without = batch();
  LmBatch right = batch();
  TeacherTargets& lists = right.token_lists[kTeacherLists];
  lists = best_of(teacher_logits(8, 20, 1).softmax(1), 2, true);
  LmBatch outside = right;
  outside.token_lists[kTeacherLists].ids.back() = kVocab;
  LmBatch cut = right;
  cut.token_lists[kTeacherLists].ends.pop_back();

  EXPECT_THROW(model.add_gradients(without, {1.0, nullptr, &loss}), ShapeError);
  EXPECT_THROW(model.add_gradients(outside, {1.0, nullptr, &loss}), ShapeError);
  EXPECT_THROW(model.add_gradients(cut, {1.0, nullptr, &loss}), ShapeError);
  EXPECT_NO_THROW(model.add_gradients(right, {1.0, nullptr, &loss}));
}

}  // namespace
}  // namespace mgpu::lm
