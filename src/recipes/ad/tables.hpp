#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <mgpu/ad/ad_rollouts.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::recipes {

/// Describes table `histories` of histories.h5. It has one row per learning history, in the order
/// of global ids.
store::TableSpec history_table(const ad::Environment& environment, const ad::HistoryShape& shape);

/// Encodes the histories of one chunk for the journal.
std::vector<std::byte> history_rows(const ad::Environment& environment,
                                    const ad::HistorySet& histories, const store::TableSpec& spec);

/// The information that an evaluation hides from the agent in some rollouts. The returns of these
/// rollouts show whether the agent learns from that information.
enum class Control : std::uint8_t { none, hide_rewards, clear_context };
inline constexpr std::array kControls{Control::none, Control::hide_rewards, Control::clear_context};
std::string_view name_of(Control control);

/// The rollouts of an evaluation. Their global ids are ordered by control, then by test task, then
/// by the number of the rollout (`run`).
struct EvaluationGrid {
  std::vector<Control> controls;
  std::vector<int> tasks;
  int runs = 0;      // number of rollouts of each task under each control
  int episodes = 0;  // number of episodes in each rollout

  std::int64_t size() const;
  Control control(std::int64_t id) const;
  int task(std::int64_t id) const;
  int run(std::int64_t id) const;
};

/// Describes table `samples` of results.h5. It has one row per episode, in the order of rollout
/// ids. Column `episode` counts from 1, so the row index is rollout id * episodes + `episode` - 1.
store::TableSpec sample_table(const EvaluationGrid& grid);

/// Encodes the rollouts of one chunk for the journal.
std::vector<std::byte> sample_rows(const ad::Environment& environment, const EvaluationGrid& grid,
                                   const run::Chunk& chunk,
                                   std::span<const ad::RolloutRecord> records,
                                   const store::TableSpec& spec);

}  // namespace mgpu::recipes
