#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace mgpu::ad {

// Shapes in this header: B = rows, H = heads, C = head width, T = largest number of tokens of a
// row.

/// The attention keys and values of each row's tokens, for decoding. Rows are independent: each has
/// a separate length and may restart at any time.
class KvCache {
public:
  struct Sizes {
    std::int64_t layers;
    std::int64_t rows;
    std::int64_t heads;
    std::int64_t head_dim;
    std::int64_t tokens;  // T, the most tokens that a row can have
  };

  KvCache(const Sizes& sizes, const at::TensorOptions& options);

  std::int64_t rows() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::int64_t length(std::int64_t row) const { return lengths_[static_cast<std::size_t>(row)]; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }

  /// Empties a row of the cache, so that a new sequence can start.
  void restart(std::int64_t row) { lengths_[static_cast<std::size_t>(row)] = 0; }
  void restart_all();

  /// Adds counts[b] to the length of row b.
  /// Errors: ShapeError when `counts` does not have one element per row, or a row would have more
  ///         than T tokens. After an error, all lengths are unchanged.
  void grow(const std::vector<std::int64_t>& counts);

  /// These functions return the cached keys or values of one layer, [B, H, T + 1, C]. Tokens
  /// are at indices 0 to T - 1 of the third dimension. Padding tokens that do not fit into their
  /// row are written to index T, which is never read.
  const at::Tensor& keys(std::size_t layer) const { return keys_[layer]; }
  const at::Tensor& values(std::size_t layer) const { return values_[layer]; }

private:
  std::int64_t capacity_;
  std::vector<std::int64_t> lengths_;  // [B] number of cached tokens
  std::vector<at::Tensor> keys_;       // [B, H, T + 1, C] of each layer; index T is for padding
  std::vector<at::Tensor> values_;     // [B, H, T + 1, C] of each layer; index T is for padding
};

}  // namespace mgpu::ad
