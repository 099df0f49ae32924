#include "evaluate.hpp"

#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_rollouts.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/phases.hpp>
#include <mgpu/tensor/read_back.hpp>

namespace mgpu::recipes {
namespace {

EvaluationGrid make_grid(const ad::Environment& environment, const EvaluateConfig& config,
                         bool with_controls) {
  EvaluationGrid grid{{Control::none}, {}, config.runs, config.episodes};
  if (with_controls) grid.controls.assign(kControls.begin(), kControls.end());
  const auto tasks = environment.test_tasks();
  grid.tasks.assign(tasks.begin(), tasks.end());
  return grid;
}

std::vector<ad::RolloutRecord> play_chunk(const Player& player, const EvaluationGrid& grid,
                                          const run::Chunk& chunk) {
  std::vector<ad::Rollout> runs;
  for (std::int64_t id = chunk.first; id < chunk.first + chunk.count; ++id) {
    const Control control = grid.control(id);
    runs.push_back({static_cast<std::uint64_t>(id),
                    grid.task(id),
                    {control == Control::hide_rewards, control == Control::clear_context}});
  }
  return ad::play(player.model, player.environment, player.rules, runs,
                  {grid.episodes, player.seed, /*round=*/0});
}

std::uint32_t crc_of_weights(const ad::AdTransformer& model) {
  const at::Tensor host = tensor::read_back(model.parameters().weights());
  return crc32c(std::as_bytes(
      std::span(host.const_data_ptr<float>(), static_cast<std::size_t>(host.numel()))));
}

std::vector<run::Chunk> all_chunks(const EvaluationGrid& grid, std::int64_t chunk_rows) {
  return run::pending_chunks({"", 0, grid.size(), chunk_rows}, {});
}

std::vector<std::pair<int, int>> cells(const ad::Environment& environment,
                                       std::span<const std::uint8_t> path) {
  const ad::Point start = environment.point(environment.start_state());
  std::vector<std::pair<int, int>> all{{start.x, start.y}};
  for (const std::uint8_t state : path) {
    const ad::Point point = environment.point(state);
    all.emplace_back(point.x, point.y);
  }
  return all;
}

}  // namespace

double mean(const EpisodeReturns& returns) {
  return std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
}

std::string return_name(int episode) {
  return "return." + std::to_string(episode);
}

EpisodeReturns evaluate_now(run::RunContext& run, const Player& player,
                            const AdSettings& settings) {
  const auto evaluating = run.clock.enter("evaluation");
  const cluster::Group& world = run.topology.world();
  const EvaluationGrid grid =
      make_grid(player.environment, settings.evaluate, /*with_controls=*/false);
  const auto chunks = all_chunks(grid, settings.loop.chunk_size);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(grid.episodes), 0);
  run::share_out(chunks, world, [&](const run::Chunk& chunk) {
    for (const ad::RolloutRecord& record : play_chunk(player, grid, chunk)) {
      for (std::size_t e = 0; e < sums.size(); ++e)
        sums[e] += record.returns[e];
    }
    run::log_chunk(run, "evaluation", chunk.count);
    return true;
  });
  world.all_reduce(std::span(sums));  // integers, so the order of additions does not matter
  EpisodeReturns returns;
  for (const std::int64_t sum : sums)
    returns.push_back(static_cast<double>(sum) / static_cast<double>(grid.size()));
  return returns;
}

FinalEvaluation final_evaluation(const ad::AdTransformer& model, const ad::Environment& environment,
                                 const AdSettings& settings) {
  return {make_grid(environment, settings.evaluate, settings.evaluate.with_controls),
          run::phase_of(crc_of_weights(model)), settings.loop.chunk_size};
}

std::optional<FinalEvaluation> evaluate_finally(run::RunContext& run, const Player& player,
                                                const AdSettings& settings) {
  const auto evaluating = run.clock.enter("evaluation");
  const FinalEvaluation evaluation = final_evaluation(player.model, player.environment, settings);
  const store::TableSpec spec = sample_table(evaluation.grid);
  const bool is_complete = run::run_chunks(
      {"evaluation", evaluation.phase, evaluation.grid.size(), settings.loop.chunk_size},
      run.topology.world(), run.journal,
      {[&](const run::Chunk& chunk) {
         const auto records = play_chunk(player, evaluation.grid, chunk);
         return sample_rows(player.environment, evaluation.grid, chunk, records, spec);
       },
       [&] { return run.stop.poll() != StopReason::none; },
       [&](std::int64_t samples) { run::log_chunk(run, "evaluation", samples); }});
  if (!is_complete) return std::nullopt;
  return evaluation;
}

EvaluationResult result_of(const store::ReadTable& samples, const store::ReadLists& paths,
                           const EvaluationGrid& grid, const ad::Environment& environment) {
  const auto returns = samples.column("return").values<std::int32_t>();
  const auto episodes = static_cast<std::size_t>(grid.episodes);
  const auto per_control = static_cast<std::size_t>(grid.size()) / grid.controls.size();
  EvaluationResult result;
  result.returns.assign(grid.controls.size(), EpisodeReturns(episodes, 0.0));
  using Sums = std::map<int, std::pair<EpisodeReturns, double>>;  // by task: sums of returns,
                                                                  // number of rollouts
  std::vector<Sums> sums(grid.controls.size());
  for (std::size_t id = 0; id < static_cast<std::size_t>(grid.size()); ++id) {
    const std::size_t row = id * episodes;
    const auto rollout = static_cast<std::int64_t>(id);
    auto& [sum, count] = sums[id / per_control][static_cast<int>(grid.task(rollout))];
    sum.resize(episodes, 0.0);
    for (std::size_t e = 0; e < episodes; ++e)
      sum[e] += static_cast<double>(returns[row + e]);
    count += 1.0;
    for (std::size_t e = 0; e < episodes; ++e) {
      result.returns[id / per_control][e] +=
          static_cast<double>(returns[row + e]) / static_cast<double>(per_control);
    }
    const auto run_id = static_cast<std::int64_t>(id);
    if (grid.run(run_id) != 0 || grid.control(run_id) != Control::none) continue;
    const ad::Point goal = environment.point(grid.task(run_id));
    const auto walk = [&](std::size_t of_row) {
      return cells(environment, paths.row<std::uint8_t>(static_cast<std::int64_t>(of_row)));
    };
    result.walks.push_back({{goal.x, goal.y},
                            walk(row),
                            walk(row + episodes - 1),
                            static_cast<double>(returns[row]),
                            static_cast<double>(returns[row + episodes - 1])});
  }
  for (Sums& of_control : sums) {
    std::vector<EpisodeReturns>& means = result.by_task.emplace_back();
    for (auto& [task, of_task] : of_control) {
      for (double& sum : of_task.first)
        sum /= of_task.second;
      means.push_back(std::move(of_task.first));
    }
  }
  return result;
}

}  // namespace mgpu::recipes
