#include "attention.hpp"

#include <algorithm>

#include <ATen/ATen.h>

#include <mgpu/kernels/paged_attention.hpp>
#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::lm {
namespace {

/// Sets index.positions to the position of each token in its sequence, and index.sequences to the
/// index of each token's span. `firsts` has the position of the first token of each span.
void fill_tokens(std::span<const SequenceSpan> spans, const std::vector<std::int64_t>& firsts,
                 const at::Tensor& like, AttentionIndex& index) {
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> sequences;
  for (std::size_t s = 0; s < spans.size(); ++s) {
    for (std::int64_t i = 0; i < tokens_of(spans[s]); ++i) {
      positions.push_back(firsts[s] + i);
      sequences.push_back(static_cast<std::int64_t>(s));
    }
  }
  index.positions = integers(positions, like);
  index.sequences = integers(sequences, like);
}

}  // namespace

at::Tensor integers(const std::vector<std::int64_t>& values, const at::Tensor& like) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(like.device());
}

at::Tensor page_table(std::span<const std::int64_t> sequences, const PagedCache& cache,
                      const at::Tensor& like) {
  std::vector<std::vector<std::int64_t>> pages;
  std::size_t pitch = 1;
  for (const std::int64_t sequence : sequences) {
    pages.push_back(cache.page_slots(sequence));
    pitch = std::max(pitch, pages.back().size());
  }
  std::vector<std::int64_t> table;
  for (std::vector<std::int64_t>& line : pages) {
    line.resize(pitch, 0);
    table.insert(table.end(), line.begin(), line.end());
  }
  return integers(table, like).view({-1, static_cast<std::int64_t>(pitch)});
}

AttentionIndex index_without_cache(std::span<const SequenceSpan> spans, const at::Tensor& like) {
  AttentionIndex index;
  std::vector<std::int64_t> starts;
  std::int64_t next = 0;
  for (const SequenceSpan& span : spans) {
    starts.push_back(next);
    next += tokens_of(span);
    index.page_tokens = std::max(index.page_tokens, tokens_of(span));  // any span fits one page
  }
  fill_tokens(spans, std::vector<std::int64_t>(spans.size(), 0), like, index);
  index.page_slots = integers(starts, like).view({-1, 1});
  return index;
}

AttentionIndex index_in_cache(std::span<const SequenceSpan> spans, const PagedCache& cache,
                              const at::Tensor& like) {
  AttentionIndex index;
  index.page_tokens = cache.page_tokens();
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> slots;
  std::vector<std::int64_t> sequences;
  for (const SequenceSpan& span : spans) {
    const std::int64_t end = cache.length(span.sequence);
    firsts.push_back(end - tokens_of(span));
    for (std::int64_t t = firsts.back(); t < end; ++t)
      slots.push_back(cache.slot(span.sequence, t));
    sequences.push_back(span.sequence);
  }
  fill_tokens(spans, firsts, like, index);
  index.page_slots = page_table(sequences, cache, like);
  index.slots = integers(slots, like);
  return index;
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                  const AttentionIndex& index, const LayerConfig& layer, const at::Tensor& sinks) {
  const at::Tensor queries = q.contiguous();
  const at::Tensor k = keys.contiguous();
  const at::Tensor v = values.contiguous();
  at::Tensor out = at::empty({q.size(0), q.size(1) * q.size(2)}, q.options());
  kernels::PagedAttentionArgs args{};
  args.queries = queries.const_data_ptr<float>();
  if (k.scalar_type() == at::kBFloat16) {
    args.half_keys = reinterpret_cast<const std::uint16_t*>(k.const_data_ptr<at::BFloat16>());
    args.half_values = reinterpret_cast<const std::uint16_t*>(v.const_data_ptr<at::BFloat16>());
  } else {
    args.keys = k.const_data_ptr<float>();
    args.values = v.const_data_ptr<float>();
  }
  args.out = out.mutable_data_ptr<float>();
  args.page_slots = index.page_slots.const_data_ptr<std::int64_t>();
  args.sequences = index.sequences.const_data_ptr<std::int64_t>();
  args.positions = index.positions.const_data_ptr<std::int64_t>();
  args.num_queries = static_cast<std::size_t>(q.size(0));
  args.heads = static_cast<std::size_t>(q.size(1));
  args.kv_heads = static_cast<std::size_t>(keys.size(1));
  args.head_dim = static_cast<std::size_t>(q.size(2));
  args.page_tokens = static_cast<std::size_t>(index.page_tokens);
  args.page_pitch = static_cast<std::size_t>(index.page_slots.size(1));
  args.window = layer.window;
  args.scale = static_cast<float>(layer.score_scale);
  if (sinks.defined()) args.sinks = sinks.const_data_ptr<float>();
  if (tensor::runs_on_gpu(q))
    kernels::cuda::paged_attention(args, tensor::current_stream(q));
  else
    kernels::cpu::paged_attention(args);
  return out;
}

}  // namespace mgpu::lm
