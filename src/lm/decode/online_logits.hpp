#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Applies the head in pieces. Shapes in this header: N = all rows, n = rows of a piece, B = tokens
// of a piece, K = number of best tokens.
namespace mgpu::lm {

// The PassSizes of a CPU. On every device, each vocabulary block of kVocabularyBlock tokens has its
// own random numbers in a draw.
inline constexpr std::int64_t kVocabularyBlock = 4032;  // a multiple of kernels::cpu::panel_width()
inline constexpr std::int64_t kHeadRows = 256;          // rows per call of the head

/// Holds the logits of rows row .. row + n - 1 and tokens first_id .. first_id + B - 1.
struct LogitsPiece {
  at::Tensor logits;  // [n, B] float32
  std::int64_t row;
  std::int64_t first_id;
};

/// Calls visit(piece) for all pieces. The pieces of a row come in the order of the vocabulary.
/// Memory: one piece; the model's PassSizes set its size.
void for_each_piece(const LanguageModel& model, const at::Tensor& hidden,
                    const std::function<void(const LogitsPiece&)>& visit);

/// Gathers the 32-bit integers `bits` of all ranks, [R, ...]. They may be the bits of any type.
at::Tensor gather_bits(ShardPeers& peers, const at::Tensor& bits);

/// The online-softmax state of all rows after the pieces so far; see kernels::OnlineLogsumexpArgs.
struct OnlineLogits {
  at::Tensor tops;         // [N]
  at::Tensor sums;         // [N]
  at::Tensor picked;       // [N]
  at::Tensor best_logits;  // [N, K]
  at::Tensor best_ids;     // [N, K]

  OnlineLogits(std::int64_t rows, std::int64_t best, const at::TensorOptions& options);

  /// Shapes: targets [N] int64 or undefined
  void fold(const LogitsPiece& piece, const at::Tensor& targets);

  /// Merges the states of all parts of the vocabulary after the last piece. Does nothing if the
  /// vocabulary is not split.
  ///
  /// Ranks:  collective over the model's ranks
  void combine(const LanguageModel& model, const at::Tensor& targets);

  /// Returns the log of the sum of exp over all processed logits, [N] nats.
  at::Tensor log_sums() const;

private:
  void merge_best(const at::Tensor& logits, const at::Tensor& ids);
};

}  // namespace mgpu::lm
