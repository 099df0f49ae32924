#include <algorithm>

#include <ATen/ATen.h>

#include <mgpu/ad/kv_cache.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {

KvCache::KvCache(const Sizes& sizes, const at::TensorOptions& options)
    : capacity_(sizes.tokens), lengths_(static_cast<std::size_t>(sizes.rows), 0) {
  const std::vector<std::int64_t> shape{sizes.rows, sizes.heads, sizes.tokens + 1, sizes.head_dim};
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
    keys_.push_back(at::zeros(shape, options));
    values_.push_back(at::zeros(shape, options));
  }
}

void KvCache::restart_all() {
  std::fill(lengths_.begin(), lengths_.end(), 0);
}

void KvCache::grow(const std::vector<std::int64_t>& counts) {
  if (counts.size() != lengths_.size()) throw ShapeError("KvCache: one count per row is needed");
  for (std::size_t row = 0; row < counts.size(); ++row)
    if (lengths_[row] + counts[row] > capacity_)
      throw ShapeError("KvCache: row " + std::to_string(row) + " would hold " +
                       std::to_string(lengths_[row] + counts[row]) + " tokens of " +
                       std::to_string(capacity_));
  for (std::size_t row = 0; row < counts.size(); ++row)
    lengths_[row] += counts[row];
}

}  // namespace mgpu::ad
