#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// The head in pieces. Shapes in this header: N rows, n rows of a piece, B its tokens, K best kept.
namespace mgpu::lm {

// A CPU's PassSizes. Draws number the vocabulary's blocks of kVocabularyBlock on any device.
inline constexpr std::int64_t kVocabularyBlock = 4032;  // whole panels of packed weights
inline constexpr std::int64_t kHeadRows = 256;          // that meet the head at a time

/// Logits of rows row .. row + n - 1 and tokens first_id .. first_id + B - 1.
struct LogitsPiece {
  at::Tensor logits;  // [n, B] float32
  std::int64_t row;
  std::int64_t first_id;
};

/// Calls visit(piece), for each row in the order of the vocabulary.
/// Memory: one piece, of the model's PassSizes.
void for_each_piece(const LanguageModel& model, const at::Tensor& hidden,
                    const std::function<void(const LogitsPiece&)>& visit);

/// What each rank of a model has as `words` of 32 bits, [R, ...]: exact, whatever they stand for.
at::Tensor gather_words(ShardPeers& peers, const at::Tensor& words);

/// What is known of all rows after some pieces; see kernels::FoldLogitsArgs.
struct FoldedLogits {
  at::Tensor tops;         // [N]
  at::Tensor sums;         // [N]
  at::Tensor picked;       // [N]
  at::Tensor best_logits;  // [N, K]
  at::Tensor best_ids;     // [N, K]

  FoldedLogits(std::int64_t rows, std::int64_t best, const at::TensorOptions& options);

  /// Shapes: targets [N] int64 or undefined
  void fold(const LogitsPiece& piece, const at::Tensor& targets);

  /// After the last piece: what the ranks with the other parts of the vocabulary know, too. Does
  /// nothing where the model has its whole vocabulary.
  ///
  /// Ranks: collective over those of the model
  void combine(const LanguageModel& model, const at::Tensor& targets);

  /// Log of the sum of exp over what was folded, [N] nats.
  at::Tensor log_sums() const;

private:
  void merge_best(const at::Tensor& logits, const at::Tensor& ids);
};

}  // namespace mgpu::lm
