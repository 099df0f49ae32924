#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/random_streams.hpp>

#include "recipes/ad/page.hpp"

namespace mgpu::report {

/// A made-up run of job train whose curves look like real ones.
struct SampleRun {
  RunSummary summary;
  recipes::AdPlots plots;
  PhaseTable phases;
};

inline std::vector<std::pair<int, int>> sample_walk(std::pair<int, int> goal, int detour) {
  std::vector<std::pair<int, int>> cells{{4, 4}};
  const auto toward = [&](int from, int to) { return from + (to > from ? 1 : to < from ? -1 : 0); };
  for (int t = 0; t < 20; ++t) {
    auto [x, y] = cells.back();
    if (t < detour) {
      const int turn = (t / 3) % 4;
      x = std::min(8, std::max(0, x + (turn == 0 ? 1 : turn == 2 ? -1 : 0)));
      y = std::min(8, std::max(0, y + (turn == 1 ? 1 : turn == 3 ? -1 : 0)));
    } else if (x != goal.first) {
      x = toward(x, goal.first);
    } else {
      y = toward(y, goal.second);
    }
    cells.emplace_back(x, y);
  }
  return cells;
}

inline recipes::AdPlots sample_plots() {
  recipes::AdPlots plots;
  auto& e = plots.episodes;
  e.late = {3.0, 7.2, 10.7, 13.3, 14.8, 15.3, 15.6, 16.0};
  for (std::size_t i = 0; i < e.late.size(); ++i) {
    e.late_band.low.push_back(e.late[i] - 2.6 + 0.2 * static_cast<double>(i));
    e.late_band.high.push_back(std::min(e.late[i] + 2.0, 17.25));
  }
  e.band = "10 to 90 % of the runs";
  e.late_step = 3000;
  e.early = {1.1, 2.2, 2.9, 3.1, 3.6, 3.4, 3.9, 4.1};
  e.early_step = 200;
  e.source = {2.4, 6.1, 9.4, 12.2, 14.4, 15.4, 15.6, 15.6};
  e.hide_rewards = {0.4, 0.3, 0.3, 0.2, 0.3, 0.2, 0.1, 0.2};
  e.clear_context = {3.0, 3.3, 2.9, 3.1, 3.4, 3.2, 3.0, 3.1};
  e.random = 0.25;
  e.optimum = 17.25;
  const RandomStream noise(1, Purpose::sampling, 0, 0);
  for (std::uint64_t step = 1; step <= 3000; ++step) {
    const auto t = static_cast<double>(step);
    const double loss = 0.42 + 1.15 * std::exp(-t / 260);
    plots.train_loss.x.push_back(t);
    plots.train_loss.y.push_back(loss + 0.08 * (noise.uniform(step) - 0.5));
    plots.learning_rate.x.push_back(t);
    plots.learning_rate.y.push_back(t < 300 ? 2e-3 * t / 300
                                            : 1e-3 * (1 + std::cos(3.14159 * (t - 300) / 2700)));
    if (step % 100 != 0) continue;
    plots.eval_return.x.push_back(t);
    plots.eval_return.y.push_back(12.2 * (1 - std::exp(-t / 500)));
  }
  for (const auto& goal : std::vector<std::pair<int, int>>{
           {4, 2}, {5, 6}, {6, 8}, {7, 2}, {3, 6}, {0, 5}, {5, 8}, {5, 4}}) {
    const double best = 21 - std::abs(goal.first - 4) - std::abs(goal.second - 4);
    plots.walks.push_back(
        {goal, sample_walk(goal, 20), sample_walk(goal, 0), 0.0, std::min(best, 20.0)});
  }
  return plots;
}

inline PhaseTable sample_phases(int ranks) {
  constexpr std::size_t kBins = 240;
  PhaseTable table;
  table.phases = {"other",    "start-up",  "histories",  "waiting for data",   "forward",
                  "backward", "optimizer", "evaluation", "allreduce, exposed", "checkpoints"};
  table.wall_s = 187.0;
  for (int r = 0; r < ranks; ++r) {
    RankPhases rank;
    for (std::size_t b = 0; b < kBins; ++b) {
      std::map<std::string, float> bin;
      if (b < 5) {
        bin = {{"start-up", 1.0F}};
      } else if (b < 24) {
        bin = {{"histories", 1.0F}};
      } else if (b % 48 > 42) {
        bin = r == 1
                  ? std::map<std::string, float>{{"evaluation", 0.8F}, {"waiting for data", 0.2F}}
                  : std::map<std::string, float>{{"evaluation", 1.0F}};
      } else {
        const float slow = r == 2 ? 0.12F : 0.02F;
        bin = {{"forward", 0.31F},
               {"backward", 0.50F},
               {"optimizer", 0.04F},
               {"waiting for data", slow},
               {"allreduce, exposed", 0.14F - slow}};
      }
      for (const auto& [phase, share] : bin) {
        rank.shares[phase].resize(kBins);
        rank.shares[phase][b] = share;
        rank.seconds[phase] += static_cast<double>(share) * table.wall_s / kBins;
      }
    }
    rank.seconds["other"] = 0.2;
    for (const auto& [phase, seconds] : rank.seconds)
      rank.wall_s += seconds;
    table.ranks.push_back(rank);
  }
  return table;
}

inline SampleRun sample_run(int ranks = 4) {
  SampleRun run;
  run.plots = sample_plots();
  run.phases = sample_phases(ranks);
  RunSummary& s = run.summary;
  s.name = "train_ad";
  s.job = "train";
  s.version = "0.1.0";
  s.ended = "2026-11-21T10:47:04Z";
  s.ranks = ranks;
  s.done = s.total = 3000;
  s.wall_s = 187.0;
  s.phases = phase_rows(run.phases);
  s.steps_per_second = 21.4;
  s.notes = {
      {"12.6 % of the run was evaluation", "train.eval_every", "train.eval_every=1000 halves it"}};
  recipes::AdPage(run.plots).record(s);
  return run;
}

inline std::string sample_html(const SampleRun& run) {
  HtmlPage page = recipes::AdPage(run.plots).page(run.summary);
  page.phases = run.phases;
  page.provenance = {{"command", "mpirun -np 4 ./mgpu_spmd conf/train/quickstart.yaml run.seed=7"},
                     {"program", "mgpu_spmd 0.1.0 (git 4f2c1e9, clean)"},
                     {"seed", "7"},
                     {"hub.token", "hf_secret"},
                     {"machine", "1 node, 16 cores <AMD EPYC 7763>"},
                     {"libraries", "Open MPI 4.1.4, libtorch 2.11.0, HDF5 1.10.8"}};
  return html_page(page, run.summary);
}

}  // namespace mgpu::report
