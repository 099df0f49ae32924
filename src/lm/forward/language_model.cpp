#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <malloc.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "layer_pass.hpp"
#include "lm/decode/online_logits.hpp"
#include "lm/weights/huge_pages.hpp"
#include "row_ops.hpp"
#include "sequence_spans.hpp"
#include "step_plan.hpp"

namespace mgpu::lm {
namespace {

void extend_cache(std::span<const SequenceSpan> spans, PagedCache& cache) {
  std::set<std::int64_t> sequences;
  std::vector<std::int64_t> extended;
  std::int64_t needed = 0;
  for (const SequenceSpan& span : spans) {
    if (!sequences.insert(span.sequence).second)
      throw ShapeError("sequence " + std::to_string(span.sequence) + " comes twice in a call");
    needed += cache.pages_for(span.sequence, tokens_of(span));
    if (tokens_of(span) > 0) extended.push_back(span.sequence);
  }
  needed -= cache.pages_left_over(extended);
  if (needed > cache.free_pages())
    throw ShapeError("PagedCache: " + std::to_string(needed) + " pages are needed, " +
                     std::to_string(cache.free_pages()) + " are free");
  for (const SequenceSpan& span : spans)
    cache.extend(span.sequence, tokens_of(span));
}

/// Returns all linear layers, including undefined ones, in the order in which a pass reads them.
std::vector<Linear*> linears_of(LmWeights& weights) {
  std::vector<Linear*> linears;
  for (LayerWeights& layer : weights.layers) {
    const std::vector<Linear*> own = linears_of(layer);
    linears.insert(linears.end(), own.begin(), own.end());
  }
  linears.push_back(&weights.head);  // undefined on ranks without the head
  return linears;
}

std::int64_t panel_bytes(const Linear& linear) {
  if (!linear.weight.defined() || tensor::runs_on_gpu(linear.weight)) return 0;
  return c10::multiply_integers(panel_shape(linear)) *
         static_cast<std::int64_t>(linear.weight.element_size());
}

/// Returns freed memory to the operating system. Otherwise glibc would keep this memory, because
/// the memory is in the middle of the heap. The memory could be as large as a second copy of all
/// weights.
void give_back_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

void pack_all(LmWeights& weights) {
  // The smallest number of bytes that are freed between two calls of give_back_free_memory().
  constexpr std::int64_t kTrimmed = std::int64_t{8} << 20;
  const std::vector<Linear*> linears = linears_of(weights);
  std::int64_t bytes = 0;
  for (const Linear* linear : linears)
    bytes += HugePageArena::rounded_up(panel_bytes(*linear));
  HugePageArena arena(bytes);
  std::int64_t let_go = 0;
  for (Linear* linear : linears) {
    if (panel_bytes(*linear) == 0) continue;
    const at::Tensor panels = arena.take(panel_shape(*linear), linear->weight.scalar_type());
    pack(*linear, panels);
    let_go += static_cast<std::int64_t>(panels.nbytes());
    if (let_go < kTrimmed) continue;
    give_back_free_memory();
    let_go = 0;
  }
  give_back_free_memory();
}

PassSizes sizes_of(const LmWeights& weights) {
  const at::Tensor& like = weights.head.weight.defined() ? weights.head.weight : any_of(weights);
  return pass_sizes(tensor::runs_on_gpu(like) ? DeviceKind::cuda : DeviceKind::cpu);
}

}  // namespace

LanguageModel::LanguageModel(LmConfig config, LmWeights weights)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      shard_(whole_model(config_)),
      held_(config_),
      sizes_(sizes_of(weights_)) {
  pack_all(weights_);
}

LanguageModel::LanguageModel(LmConfig config, LmWeights weights, const Shard& shard,
                             ShardPeers& peers)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      shard_(shard),
      held_(held_by(shard, config_)),
      peers_(&peers),
      sizes_(sizes_of(weights_)) {
  pack_all(weights_);
}

LanguageModel LanguageModel::open(const fs::path& folder, const LoadOptions& options) {
  LmConfig config = read_lm_config(folder);
  LmWeights weights = load_weights(config, formats::WeightFiles(folder), options);
  return {std::move(config), std::move(weights)};
}

at::Tensor LanguageModel::run(std::span<const SequenceSpan> spans, PagedCache* cache) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& like = any_of(weights_);
  const ModelInput input = input_of(held_, spans, like.device());
  if (input.ids.numel() == 0) return at::empty({0, held_.hidden_size}, options_of(weights_));
  const std::vector<RotatedSpan> rotated = rotated_spans(held_, spans, cache);
  if (cache != nullptr) extend_cache(spans, *cache);
  const Call call{
      held_,
      cache == nullptr ? index_without_cache(spans, like) : index_in_cache(spans, *cache, like),
      held_.rope.kind == RopeKind::none ? Rotation{} : make_rotation(held_, rotated, like),
      cache,
      shard_,
      peers_,
      {}};
  const at::Tensor outputs = shard_.has_head ? output_rows(spans, input.ids) : at::Tensor();
  return run_layers(weights_, input, outputs, call);
}

void LanguageModel::set_sizes(const PassSizes& sizes) {
  const bool is_positive = std::min({sizes.prefill_tokens, sizes.head_rows, sizes.vocabulary_block,
                                     sizes.steps_per_read}) > 0;
  if (!is_positive || sizes.vocabulary_block % kVocabularyBlock != 0)
    throw Error("LanguageModel: sizes that are not positive, or not whole vocabulary blocks");
  sizes_ = sizes;
}

StepPlan LanguageModel::plan_steps(std::span<const std::int64_t> sequences, std::int64_t steps,
                                   PagedCache& cache) const {
  return {held_, sequences, steps, cache, any_of(weights_)};
}

at::Tensor LanguageModel::hidden(const at::Tensor& ids, const StepPlan& plan, std::int64_t step,
                                 PagedCache& cache) const {
  const at::NoGradGuard no_grad;
  const Call call{held_, plan.index(step), plan.rotation(step), &cache, shard_, peers_, {}};
  return run_layers(weights_, {ids, {}}, {}, call);
}

at::Tensor LanguageModel::hidden(std::span<const SequenceSpan> spans) const {
  return run(spans, nullptr);
}

at::Tensor LanguageModel::hidden(std::span<const SequenceSpan> spans, PagedCache& cache) const {
  return run(spans, &cache);
}

std::vector<std::int64_t> LanguageModel::all_reduce_rows(
    std::span<const SequenceSpan> spans) const {
  if (!shard_.is_tensor_parallel) return {};
  const auto [tokens, outputs] = count_rows(spans);
  std::vector<std::int64_t> sums(1 + 2 * static_cast<std::size_t>(shard_.layers.size()), tokens);
  if (shard_.has_head) std::fill(sums.end() - 2, sums.end(), outputs);
  std::erase(sums, 0);
  return sums;
}

PagedCache LanguageModel::make_cache(const PagedCache::Sizes& sizes) const {
  return {held_, sizes, options_of(weights_)};
}

}  // namespace mgpu::lm
