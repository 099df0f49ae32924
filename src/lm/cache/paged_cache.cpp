#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "lm/weights/huge_pages.hpp"

namespace mgpu::lm {
namespace {

at::Tensor zeros_of(at::IntArrayRef shape, const at::TensorOptions& options) {
  if (!options.device().is_cpu()) return at::zeros(shape, options);
  const auto count = c10::multiply_integers(shape);
  const auto size = static_cast<std::int64_t>(options.dtype().itemsize());
  const std::int64_t floats = (count * size + 3) / 4;
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  return zeros_in_huge_pages(floats).view(type).narrow(0, 0, count).view(shape);
}

/// Sets pool[slots[n]] = computed[n], converted to the pool's type. On the CPU, the function calls
/// memcpy for each n, because index_copy_ would be slower.
void write_lines(const at::Tensor& pool, const at::Tensor& slots, const at::Tensor& computed) {
  const at::Tensor lines = computed.to(pool.scalar_type());
  if (tensor::runs_on_gpu(pool)) {
    pool.index_copy_(0, slots, lines);
    return;
  }
  if (lines.size(0) != slots.numel() || lines.sizes().slice(1) != pool.sizes().slice(1))
    throw ShapeError("PagedCache: lines of another shape");
  const at::Tensor whole = lines.contiguous();
  const auto bytes = static_cast<std::size_t>(pool.stride(0) * pool.element_size());
  const auto* from = static_cast<const std::byte*>(whole.const_data_ptr());
  auto* to = static_cast<std::byte*>(pool.mutable_data_ptr());
  const auto* slot = slots.const_data_ptr<std::int64_t>();
  for (std::int64_t n = 0; n < slots.numel(); ++n, from += bytes) {
    if (slot[n] < 0 || slot[n] >= pool.size(0)) throw ShapeError("PagedCache: no such slot");
    std::memcpy(to + static_cast<std::size_t>(slot[n]) * bytes, from, bytes);
  }
}

at::ScalarType dtype_of(CacheType type) {
  return type == CacheType::bf16 ? at::kBFloat16 : at::kFloat;
}

}  // namespace

PagedCache::PagedCache(const LmConfig& config, const Sizes& sizes, const at::TensorOptions& options)
    : page_tokens_(sizes.page_tokens), pool_(sizes.pages, sizes.extent) {
  if (sizes.page_tokens < 1) throw ShapeError("PagedCache: a page of no tokens");
  // There is one allocation for all layers, because the size of each allocation is rounded up to
  // whole huge pages.
  all_ = zeros_of({2 * std::ssize(config.layers), sizes.pages * sizes.page_tokens, config.kv_heads,
                   config.head_dim},
                  options.dtype(dtype_of(sizes.type)));
  for (std::int64_t layer = 0; layer < std::ssize(config.layers); ++layer) {
    keys_.push_back(all_[2 * layer]);
    values_.push_back(all_[2 * layer + 1]);
  }
}

const PagedCache::Sequence& PagedCache::get(std::int64_t sequence) const {
  const auto index = static_cast<std::size_t>(sequence);
  if (sequence < 0 || index >= sequences_.size() || !sequences_[index].is_used)
    throw Error("PagedCache: no sequence " + std::to_string(sequence));
  return sequences_[index];
}

std::int64_t PagedCache::add() {
  const auto unused = std::find_if(sequences_.begin(), sequences_.end(),
                                   [](const Sequence& sequence) { return !sequence.is_used; });
  const auto index = unused - sequences_.begin();
  if (unused == sequences_.end()) sequences_.emplace_back();
  sequences_[static_cast<std::size_t>(index)].is_used = true;
  return index;
}

std::int64_t PagedCache::fork(std::int64_t sequence) {
  const Sequence origin = get(sequence);
  const std::int64_t copy = add();
  sequences_[static_cast<std::size_t>(copy)] = origin;
  for (const std::int64_t page : origin.pages)
    pool_.share(page);
  return copy;
}

std::int64_t PagedCache::fork(std::int64_t sequence, std::int64_t pages) {
  if (pages < 0 || pages * page_tokens_ > get(sequence).length)
    throw Error("PagedCache: fork of more than there is");
  const std::int64_t copy = fork(sequence);
  Sequence& it = sequences_[static_cast<std::size_t>(copy)];
  for (auto page = it.pages.begin() + pages; page != it.pages.end(); ++page)
    pool_.give_back(*page);  // the origin of the fork still uses the page
  it.pages.resize(static_cast<std::size_t>(pages));
  it.length = pages * page_tokens_;
  return copy;
}

void PagedCache::remove(std::int64_t sequence) {
  for (const std::int64_t page : get(sequence).pages)
    pool_.give_back(page);
  sequences_[static_cast<std::size_t>(sequence)] = {};
}

bool PagedCache::shares_last_page(const Sequence& sequence) const {
  return sequence.length % page_tokens_ != 0 && pool_.users(sequence.pages.back()) > 1;
}

std::int64_t PagedCache::pages_for(std::int64_t sequence, std::int64_t tokens) const {
  const Sequence& it = get(sequence);
  if (tokens == 0) return 0;
  const std::int64_t pages = (it.length + tokens + page_tokens_ - 1) / page_tokens_;
  return pages - static_cast<std::int64_t>(it.pages.size()) + (shares_last_page(it) ? 1 : 0);
}

std::int64_t PagedCache::pages_left_over(std::span<const std::int64_t> sequences) const {
  std::map<std::int64_t, std::int64_t> writers;  // shared last page -> number of `sequences` that
                                                 // write to it
  for (const std::int64_t sequence : sequences) {
    const Sequence& it = get(sequence);
    if (shares_last_page(it)) ++writers[it.pages.back()];
  }
  return std::count_if(writers.begin(), writers.end(),
                       [this](const auto& page) { return page.second == pool_.users(page.first); });
}

void PagedCache::extend(std::int64_t sequence, std::int64_t tokens) {
  const std::int64_t needed = pages_for(sequence, tokens);
  if (needed > free_pages())
    throw ShapeError("PagedCache: " + std::to_string(needed) + " pages are needed, " +
                     std::to_string(free_pages()) + " are free");
  if (tokens == 0) return;
  Sequence& it = sequences_[static_cast<std::size_t>(sequence)];
  if (shares_last_page(it)) {
    const std::int64_t own = pool_.take(it.pages.size() > 1 ? *(it.pages.end() - 2) : -1);
    copy_tokens(it.pages.back(), own, it.length % page_tokens_);
    pool_.give_back(it.pages.back());
    it.pages.back() = own;
  }
  it.length += tokens;
  while (static_cast<std::int64_t>(it.pages.size()) * page_tokens_ < it.length)
    it.pages.push_back(pool_.take(it.pages.empty() ? -1 : it.pages.back()));
}

/// Copies the keys and values of the first `tokens` tokens of a page to another page, in all
/// layers.
void PagedCache::copy_tokens(std::int64_t from, std::int64_t to, std::int64_t tokens) {
  const auto of_page = [&](std::int64_t page) {
    return all_.narrow(1, page * page_tokens_, tokens);  // [2 layers, tokens, G, C]
  };
  of_page(to).copy_(of_page(from));
}

std::vector<std::int64_t> PagedCache::page_slots(std::int64_t sequence) const {
  std::vector<std::int64_t> slots = get(sequence).pages;
  for (std::int64_t& slot : slots)
    slot *= page_tokens_;
  return slots;
}

std::int64_t PagedCache::slot(std::int64_t sequence, std::int64_t token) const {
  const Sequence& it = get(sequence);
  return it.pages[static_cast<std::size_t>(token / page_tokens_)] * page_tokens_ +
         token % page_tokens_;
}

void PagedCache::write(std::size_t layer, const at::Tensor& slots, const at::Tensor& keys,
                       const at::Tensor& values) {
  write_lines(keys_[layer], slots, keys);
  write_lines(values_[layer], slots, values);
}

}  // namespace mgpu::lm
