#include "step_plan.hpp"

#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

StepPlan::StepPlan(const LmConfig& config, std::span<const std::int64_t> sequences,
                   std::int64_t steps, PagedCache& cache, const at::Tensor& like) {
  const bool has_rotation = config.rope.kind != RopeKind::none;
  std::vector<std::int64_t> firsts;
  for (const std::int64_t sequence : sequences) {
    firsts.push_back(cache.length(sequence));
    if (!has_rotation && firsts.back() + steps > config.max_positions)
      throw ShapeError("steps beyond the " + std::to_string(config.max_positions) +
                       " positions of the model");
  }
  for (const std::int64_t sequence : sequences)
    cache.extend(sequence, steps);

  std::vector<std::int64_t> positions;  // of all tokens, ordered by step, then sequence
  std::vector<std::int64_t> slots;
  std::vector<RotatedSpan> rotated;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const std::int64_t position = firsts[s] + step;
      positions.push_back(position);
      slots.push_back(cache.slot(sequences[s], position));
      rotated.push_back({position, 1, position + 1});
    }
  }
  const auto count = static_cast<std::int64_t>(sequences.size());
  const at::Tensor all_positions = integers(positions, like).view({steps, count});
  const at::Tensor all_slots = integers(slots, like).view({steps, count});
  const Rotation rotation = has_rotation ? make_rotation(config, rotated, like) : Rotation{};
  const at::Tensor numbers = at::arange(count, all_slots.options());
  const at::Tensor pages = page_table(sequences, cache, like);
  const auto rows_of = [&](const at::Tensor& all, std::int64_t step) {
    return all.defined() ? all.narrow(0, step * count, count) : all;
  };
  for (std::int64_t step = 0; step < steps; ++step)
    steps_.push_back({{all_positions[step], numbers, pages, all_slots[step], cache.page_tokens()},
                      {rows_of(rotation.cosine, step), rows_of(rotation.sine, step)}});
}

}  // namespace mgpu::lm
