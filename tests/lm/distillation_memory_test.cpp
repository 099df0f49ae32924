// Tests that a pass needs at most the number of temporary tensors that its loss states. Plans of
// memory use this number.
#include <algorithm>
#include <memory>

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/head_blocks.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "distillation_reference.hpp"
#include "lm/training/distill_loss.hpp"
#include "made_folder.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kVocab = 12'000;

/// Receives a report of each allocation of libtorch, and keeps the largest sum of bytes.
class PeakBytes final : public c10::MemoryReportingInfoBase {
public:
  void reportMemoryUsage(void* /*data*/, std::int64_t bytes, std::size_t /*allocated*/,
                         std::size_t /*reserved*/, c10::Device /*device*/) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

private:
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

/// Returns the peak of temporary tensors while the loss and its gradients are computed, in pieces.
/// A piece has the logits of all kRows for one block of the vocabulary. The result does not include
/// `whole` tensors of all logits, [kRows, kVocab].
double pieces_of(const BlockLoss& loss, std::int64_t whole) {
  const at::Tensor hidden = at::randn({kRows, 2});
  const bool on_gpu = tensor::runs_on_gpu(hidden);
  const HeadBlocks blocks = head_blocks(on_gpu ? DeviceKind::cuda : DeviceKind::cpu, kVocab);
  EXPECT_LE(kRows, blocks.rows);
  const grad::HeadArgs args{hidden, at::randn({kVocab, 2}), at::arange(kRows, at::kLong),
                            tensor::ComputeKind::f32};
  grad::HeadGradients gradients{{}, at::zeros_like(args.weight)};
  const auto peak = std::make_shared<PeakBytes>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, peak);
    grad::head_loss(args, loss, 1.0, &gradients);
  }
  const auto row = static_cast<double>(peak->peak()) / (sizeof(float) * kRows);
  return (row - static_cast<double>(whole * kVocab)) /
         static_cast<double>(std::min(kVocab, blocks.vocabulary_block));
}

/// Returns the largest number of pieces for any divergence.
template <class MakeLoss>
double most_pieces(const MakeLoss& loss, std::int64_t whole) {
  double most = 0.0;
  for (const Divergence kind : {Divergence::forward_kl, Divergence::reverse_kl, Divergence::jsd,
                                Divergence::cross_entropy}) {
    const Distillation how{kind, 0.3, 0.3, 2.0};
    most = std::max(most, pieces_of(loss(how), whole));
  }
  return most;
}

// Lists of few ids and sums of rows take less than a tenth of a piece.
TEST(DistillationMemoryTest, ALossOnStoredTargetsHasAsManyPiecesAsItSays) {
  const TeacherTargets teacher =
      best_of(teacher_logits(kRows, kVocab, 3).to(at::kDouble).softmax(1), 4, true);

  const double pieces =
      most_pieces([&](const Distillation& how) { return grad::stored_loss(how, teacher); }, 1);

  std::printf("stored targets: %.2f pieces\n", pieces);
  EXPECT_LT(pieces, StoredTargetLoss::kPieces + 0.1);
}

TEST(DistillationMemoryTest, ALossOnAResidentTeacherHasAsManyPiecesAsItSays) {
  const testing_support::TemporaryFolder folder;
  make_folder(folder.path(), {.layers = 1, .vocab = kVocab});
  const LanguageModel teacher = LanguageModel::open(folder.path());
  const grad::TeacherPass pass{teacher, at::randn({kRows, teacher.config().hidden_size})};

  const double pieces =
      most_pieces([&](const Distillation& how) { return grad::resident_loss(how, pass); }, 2);

  std::printf("a resident teacher: %.2f pieces\n", pieces);
  EXPECT_LT(pieces, ResidentTeacherLoss::kPieces + 0.1);
  EXPECT_GT(pieces, ResidentTeacherLoss::kPieces - 1.5);
}

}  // namespace
}  // namespace mgpu::lm
