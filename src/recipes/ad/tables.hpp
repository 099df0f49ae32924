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

/// Table `histories` of histories.h5. It has one row per learning history, by global id.
store::TableSpec history_table(const ad::Environment& environment, const ad::HistoryShape& shape);

/// The journal payload of the histories of one chunk.
std::vector<std::byte> history_rows(const ad::Environment& environment,
                                    const ad::HistorySet& histories, const store::TableSpec& spec);

/// Information that a part of the evaluation hides from the agent.
enum class Control : std::uint8_t { none, hide_rewards, clear_context };
inline constexpr std::array kControls{Control::none, Control::hide_rewards, Control::clear_context};
std::string_view name_of(Control control);

/// The runs of an evaluation, by global id: for each control, each test task, each run.
struct EvaluationGrid {
  std::vector<Control> controls;
  std::vector<int> tasks;
  int runs = 0;      // for each task under each control
  int episodes = 0;  // in each run

  std::int64_t size() const;
  Control control(std::int64_t id) const;
  int task(std::int64_t id) const;
  int run(std::int64_t id) const;
};

/// Table `samples` of results.h5: one row per episode, row = run id * episodes + episode.
store::TableSpec sample_table(const EvaluationGrid& grid);

/// The journal payload of the runs of one chunk.
std::vector<std::byte> sample_rows(const ad::Environment& environment, const EvaluationGrid& grid,
                                   const run::Chunk& chunk,
                                   std::span<const ad::RolloutRecord> records,
                                   const store::TableSpec& spec);

}  // namespace mgpu::recipes
