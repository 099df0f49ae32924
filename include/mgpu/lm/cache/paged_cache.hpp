#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/page_pool.hpp>
#include <mgpu/lm/config/lm_config.hpp>

// Shapes in this header: G key-value heads, C head width.
namespace mgpu::lm {

enum class CacheType : std::uint8_t { f32, bf16 };

constexpr std::int64_t bytes_of(CacheType type) {
  return type == CacheType::bf16 ? 2 : 4;
}

/// A paged KV cache: keys and values of the tokens of each sequence, in pages of a fixed pool. A
/// fork shares the pages of its origin. If the last page of a sequence is shared and not full,
/// extend() first replaces it with a copy. The class is not thread-safe.
class PagedCache {
public:
  struct Sizes {
    std::int64_t pages = 0;
    std::int64_t page_tokens = 16;  // tokens per page
    std::int64_t extent = 16;       // pages per extent, see PagePool
    CacheType type = CacheType::f32;
  };

  /// Allocates the cache on the device of `options`.
  /// Memory: 2 * layers * pages * page_tokens * G * C elements, in one allocation.
  /// Errors: ShapeError when page_tokens is below 1.
  PagedCache(const LmConfig& config, const Sizes& sizes, const at::TensorOptions& options);

  std::int64_t page_tokens() const { return page_tokens_; }
  std::int64_t free_pages() const { return pool_.free_pages(); }
  std::int64_t most_used_pages() const { return pool_.most_used(); }

  /// Adds an empty sequence and returns its number, which may be that of a removed sequence.
  std::int64_t add();
  /// Adds a sequence that shares all pages of `sequence`, and returns its number.
  std::int64_t fork(std::int64_t sequence);
  /// Adds a sequence that shares the first `pages` pages of `sequence`, and returns its number.
  /// Errors: Error when `sequence` has fewer than `pages` full pages.
  std::int64_t fork(std::int64_t sequence, std::int64_t pages);
  /// Removes a sequence and frees the pages that no other sequence shares.
  void remove(std::int64_t sequence);

  /// Returns the number of tokens of a sequence.
  ///
  /// Errors: Error when the sequence does not exist. All functions that take a sequence throw this
  ///         error.
  std::int64_t length(std::int64_t sequence) const { return get(sequence).length; }

  /// Returns how many pages extend() with the same arguments would take from the pool.
  std::int64_t pages_for(std::int64_t sequence, std::int64_t tokens) const;

  /// Returns by how many pages the sum of pages_for() is too high, if all of `sequences` are
  /// extended by at least one token. For each sequence with a shared last page that is not full,
  /// pages_for() counts a copy of this page. If all users of the page are in `sequences`, the user
  /// that is extended last keeps the page and needs no copy.
  ///
  /// No sequence may occur twice in `sequences`.
  std::int64_t pages_left_over(std::span<const std::int64_t> sequences) const;

  /// Makes room for `tokens` more tokens at the end of a sequence. The keys and values of these
  /// tokens are undefined until write().
  /// Errors: ShapeError when the pool has too few free pages; in this case, the cache is unchanged.
  void extend(std::int64_t sequence, std::int64_t tokens);

  /// Returns the slot of the first token of each page of a sequence. A slot is the index of a row
  /// of keys() and values().
  std::vector<std::int64_t> page_slots(std::int64_t sequence) const;
  std::int64_t slot(std::int64_t sequence, std::int64_t token) const;

  /// Stores the keys and values of N tokens of a layer in the given slots, rounded to the cache's
  /// type.
  /// Shapes: slots [N] int64; keys, values [N, G, C]
  /// Errors: on the CPU, ShapeError when the shapes do not fit, or a slot does not exist.
  void write(std::size_t layer, const at::Tensor& slots, const at::Tensor& keys,
             const at::Tensor& values);

  // keys() and values() return the keys and the values of one layer, in the cache's type.
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
  void copy_tokens(std::int64_t from, std::int64_t to, std::int64_t tokens);

  std::int64_t page_tokens_;
  at::Tensor all_;  // [2 * layers, slots, G, C]: keys of layer 0, values of layer 0, keys of
                    // layer 1, and so on
  std::vector<at::Tensor> keys_;    // one per layer, [slots, G, C]
  std::vector<at::Tensor> values_;  // one per layer, [slots, G, C]
  PagePool pool_;
  std::vector<Sequence> sequences_;
};

}  // namespace mgpu::lm
