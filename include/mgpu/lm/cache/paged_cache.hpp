#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/page_pool.hpp>
#include <mgpu/lm/config/lm_config.hpp>

// Shapes in this header: G key heads, C head width.
namespace mgpu::lm {

enum class CacheType : std::uint8_t { f32, bf16 };

constexpr std::int64_t bytes_of(CacheType type) {
  return type == CacheType::bf16 ? 2 : 4;
}

/// Keys and values of the tokens that sequences have seen, in pages of a fixed pool. A fork
/// shares the pages of its origin; a page that is shared is copied when one of them writes to it.
/// Not for several threads.
class PagedCache {
public:
  struct Sizes {
    std::int64_t pages = 0;
    std::int64_t page_tokens = 16;
    std::int64_t stretch = 16;  // see PagePool
    CacheType type = CacheType::f32;
  };

  /// Takes the device of `options`.
  /// Memory: 2 * layers * pages * page_tokens * G * C elements, allocated at once.
  PagedCache(const LmConfig& config, const Sizes& sizes, const at::TensorOptions& options);

  std::int64_t page_tokens() const { return page_tokens_; }
  std::int64_t free_pages() const { return pool_.free_pages(); }

  /// A sequence without tokens; its number may be that of a removed one.
  std::int64_t add();
  /// A sequence with the same tokens.
  std::int64_t fork(std::int64_t sequence);
  /// One with its first `pages` pages, which have to be full.
  std::int64_t fork(std::int64_t sequence, std::int64_t pages);
  /// Gives back what no other sequence shares.
  void remove(std::int64_t sequence);

  /// Tokens of a sequence. Errors: Error when there is no such sequence (in all calls here).
  std::int64_t length(std::int64_t sequence) const { return get(sequence).length; }

  /// Pages that extend() would take from the pool.
  std::int64_t pages_for(std::int64_t sequence, std::int64_t tokens) const;

  /// Of those, pages that it would not take because other sequences here, which are extended
  /// before, have left a page that they shared. Each sequence once, by at least one token.
  std::int64_t pages_left_over(std::span<const std::int64_t> sequences) const;

  /// Makes room for more tokens at the end; what is there in memory is for write().
  /// Errors: ShapeError when the pool has too few pages; nothing has changed then.
  void extend(std::int64_t sequence, std::int64_t tokens);

  /// Slot of the first token of each page.
  std::vector<std::int64_t> page_slots(std::int64_t sequence) const;
  std::int64_t slot(std::int64_t sequence, std::int64_t token) const;

  /// Rounds to the cache's type.
  /// Shapes: slots [N] int64; keys, values [N, G, C]
  void write(std::size_t layer, const at::Tensor& slots, const at::Tensor& keys,
             const at::Tensor& values);

  // Of the cache's type.
  const at::Tensor& keys(std::size_t layer) const { return keys_[layer]; }      // [slots, G, C]
  const at::Tensor& values(std::size_t layer) const { return values_[layer]; }  // [slots, G, C]

private:
  struct Sequence {
    bool is_used = false;
    std::int64_t length = 0;
    std::vector<std::int64_t> pages;
  };

  const Sequence& get(std::int64_t sequence) const;
  bool shares_last_page(const Sequence& sequence) const;
  void copy_page(std::int64_t from, std::int64_t to);

  std::int64_t page_tokens_;
  std::vector<at::Tensor> keys_;    // layers x [slots, G, C]
  std::vector<at::Tensor> values_;  // layers x [slots, G, C]
  PagePool pool_;
  std::vector<Sequence> sequences_;
};

}  // namespace mgpu::lm
