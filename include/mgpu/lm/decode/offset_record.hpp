#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/logit_processors.hpp>

// Shapes in this header: N rows of a draw, K candidates, T tokens of a completion.
namespace mgpu::lm {

/// Stores the candidates of all draws, and the offsets that a CandidateProcessor added to their
/// logits. SequenceDivergence uses them later to compute KL(p || q). Here p is the distribution of
/// the generating model with the offsets, and q is the distribution of a reference model. The
/// record stays on the device, so add() reads nothing back to the host.
///
/// Memory: 8 bytes for each candidate of each draw, until clear()
class OffsetRecord {
public:
  /// Adds the candidates and offsets of one draw per sequence. Row n belongs to the draw rows[n].
  /// If the record already contains a draw with this sample and position, the new row replaces it.
  /// Shapes: rows N; ids [N, K] int64; offsets [N, K] float32
  void add(std::span<const DrawSite> rows, const at::Tensor& ids, const at::Tensor& offsets);

  /// Returns the ids and offsets of draws `first` .. `first + count - 1` of a sample, each tensor
  /// [T, K] with T = count. The number of a draw is DrawSite::position. `first` may be negative:
  /// all ids of a draw with a negative number are -1.
  ///
  /// Errors: Error when the record has no draws of the sample, or lacks a requested draw whose
  ///         number is not negative.
  CandidateOffsets of(std::uint64_t sample, std::int64_t first, std::int64_t count) const;

  void clear();

private:
  /// Where the record stores the candidates and offsets of one draw: a row of a Call.
  struct Place {
    std::size_t call = 0;   // index in calls_
    std::int64_t row = -1;  // -1: the record does not contain the draw
  };
  struct Call {
    at::Tensor ids;      // [N, K] int32
    at::Tensor offsets;  // [N, K] float32
  };

  std::vector<Call> calls_;
  std::map<std::uint64_t, std::vector<Place>> places_;  // sample -> its draws, by number
};

}  // namespace mgpu::lm
