#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Applies the vocabulary head in pieces, each of some rows and one block of the vocabulary. Shapes
// in this header: N = all rows, n = rows of a piece, B = tokens of a piece, K = number of best
// tokens.
namespace mgpu::lm {

// These constants are the default values of PassSizes::vocabulary_block and head_rows on a CPU. On
// every device, a draw without top k and top p uses separate random numbers for each block of
// kVocabularyBlock tokens of the vocabulary.
inline constexpr std::int64_t kVocabularyBlock = 4032;  // a multiple of kernels::cpu::panel_width()
inline constexpr std::int64_t kHeadRows = 256;          // rows per call of the head

/// Logits of rows [row, row + n) for tokens [first_id, first_id + B).
struct LogitsPiece {
  at::Tensor logits;  // [n, B] float32
  std::int64_t row;
  std::int64_t first_id;
};

/// Computes the logits of all rows of `hidden` for this rank's part of the vocabulary, and calls
/// visit(piece) for each piece. The pieces of a row come in the order of the vocabulary.
/// Memory: one piece; the model's PassSizes set its size.
void for_each_piece(const LanguageModel& model, const at::Tensor& hidden,
                    const std::function<void(const LogitsPiece&)>& visit);

/// Returns the tensors `bits` of all R ranks, [R, ...] int32. The integers may hold the bits of
/// other types, such as float32.
/// Ranks: collective over `peers`
at::Tensor gather_bits(ShardPeers& peers, const at::Tensor& bits);

/// For each row, the largest logit (top) and the sum of exp(logit - top), [N] each.
struct TopsAndSums {
  at::Tensor tops;
  at::Tensor sums;
};

/// Merges the tops and sums of R ranks, [R, N] each, into those of the whole vocabulary, [N] each.
TopsAndSums merge_ranks(const TopsAndSums& of_ranks);

/// The state of an online softmax over all rows, after the pieces so far; see
/// kernels::OnlineLogsumexpArgs.
struct OnlineLogits {
  at::Tensor tops;         // [N] largest logit
  at::Tensor sums;         // [N] sum of exp(logit - top)
  at::Tensor picked;       // [N] logit of the target
  at::Tensor best_logits;  // [N, K]
  at::Tensor best_ids;     // [N, K]

  OnlineLogits(std::int64_t rows, std::int64_t best, const at::TensorOptions& options);

  /// Updates the state with one piece.
  /// Shapes: targets [N] int64 or undefined
  void fold(const LogitsPiece& piece, const at::Tensor& targets);

  /// Merges the states of all ranks if the vocabulary is split over them. Otherwise does nothing.
  /// Call this function after the last piece.
  ///
  /// Ranks:  collective over the ranks of a tensor-parallel model
  void combine(const LanguageModel& model, const at::Tensor& targets);

  /// Returns the log of the sum of exp over all processed logits, [N] nats.
  at::Tensor log_sums() const;

private:
  void merge_best(const at::Tensor& logits, const at::Tensor& ids);
};

}  // namespace mgpu::lm
