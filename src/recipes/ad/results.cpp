#include "results.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/random_streams.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/small_table.hpp>

#include "page.hpp"
#include "recipes/train_table.hpp"

namespace mgpu::recipes {
namespace {

/// Returns the mean return of each episode in evaluation `index`.
EpisodeReturns returns_at(const TrainCurves& curves, std::int64_t index) {
  EpisodeReturns returns;
  for (const std::string& name : curves.value_names())
    returns.push_back(curves.value(index, name));
  return returns;
}

store::SmallTable eval_table(const TrainCurves& curves) {
  std::vector<std::int64_t> step;
  std::vector<std::int64_t> episode;
  std::vector<double> returns;
  for (std::int64_t i = 0; i < curves.evaluations(); ++i) {
    const EpisodeReturns all = returns_at(curves, i);
    for (std::size_t e = 0; e < all.size(); ++e) {
      step.push_back(curves.evaluated_at(i));
      episode.push_back(static_cast<std::int64_t>(e) + 1);
      returns.push_back(all[e]);
    }
  }
  return store::make_small_table("metrics/eval",
                                 {{"step", step, "optimizer steps done", "steps"},
                                  {"episode", episode, "episode of the context, from 1"},
                                  {"return", returns, "mean over runs and unseen tasks"}},
                                 {.signal = "return", .axis = "step"});
}

double mean_optimum(const ad::Environment& environment) {
  double sum = 0.0;
  for (const int task : environment.test_tasks())
    sum += environment.optimal_return(task);
  return sum / static_cast<double>(environment.test_tasks().size());
}

/// Returns the mean return of one episode of a policy that chooses actions uniformly, averaged over
/// all tasks. Computes it exactly, by propagating the distribution over cells through the steps of
/// an episode.
double mean_random(const ad::Environment& environment) {
  const auto states = static_cast<std::size_t>(environment.num_states());
  const double share = 1.0 / environment.num_actions();
  double total = 0.0;
  for (int task = 0; task < environment.num_tasks(); ++task) {
    std::vector<double> mass(states, 0.0);
    mass[static_cast<std::size_t>(environment.start_state())] = 1.0;
    for (int t = 0; t < environment.horizon(); ++t) {
      std::vector<double> next(states, 0.0);
      for (std::size_t s = 0; s < states; ++s) {
        for (int action = 0; action < environment.num_actions(); ++action) {
          const auto step = environment.step(task, static_cast<int>(s), action);
          next[static_cast<std::size_t>(step.next_state)] += mass[s] * share;
          total += mass[s] * share * step.reward;
        }
      }
      mass = std::move(next);
    }
  }
  return total / environment.num_tasks();
}

/// Sets `returns` to the mean returns under `control`, and `band` to their 95 % intervals. Does
/// nothing if the evaluation did not use `control`.
void fill_control(const TrainVerdict& verdict, Control control, std::vector<double>& returns,
                  AdPlots::Band& band) {
  for (std::size_t c = 0; c < verdict.grid.controls.size(); ++c) {
    if (verdict.grid.controls[c] != control) continue;
    returns = verdict.result.returns[c];
    band = band_of(verdict.result.by_task[c]);
  }
}

void fill_curves(const TrainVerdict& verdict, std::int64_t steps, AdPlots& plots) {
  for (std::int64_t s = 0; s < steps; ++s) {
    const train::StepRow row = verdict.curves.step(s);
    const auto x = static_cast<double>(s + 1);
    plots.train_loss.x.push_back(x);
    plots.train_loss.y.push_back(row.loss);
    plots.learning_rate.x.push_back(x);
    plots.learning_rate.y.push_back(row.learning_rate);
  }
  for (std::int64_t i = 0; i < verdict.curves.evaluations(); ++i) {
    plots.eval_return.x.push_back(static_cast<double>(verdict.curves.evaluated_at(i)));
    plots.eval_return.y.push_back(mean(returns_at(verdict.curves, i)));
  }
}

void fill_episodes(const TrainVerdict& verdict, std::int64_t steps, AdPlots::PerEpisode& episodes) {
  fill_control(verdict, Control::none, episodes.late, episodes.late_band);
  fill_control(verdict, Control::hide_rewards, episodes.hide_rewards, episodes.hide_rewards_band);
  fill_control(verdict, Control::clear_context, episodes.clear_context,
               episodes.clear_context_band);
  episodes.late_step = steps;
  if (verdict.curves.evaluations() > 0 && verdict.curves.evaluated_at(0) < steps) {
    episodes.early = returns_at(verdict.curves, 0);
    episodes.early_step = verdict.curves.evaluated_at(0);
  }
  episodes.source = ad::mean_returns(verdict.histories);
  const std::vector<EpisodeReturns> sources = returns_by_task(verdict.histories);
  episodes.source_band = band_of(sources);
  episodes.band = report::text_of(
      "95 %% intervals of the mean over goals (bootstrap), %zu unseen ones for the agent and %zu "
      "of "
      "the training for the source algorithm",
      verdict.result.by_task.front().size(), sources.size());
  episodes.random = mean_random(verdict.environment);
  episodes.optimum = mean_optimum(verdict.environment);
}

/// Logs a line with the mean return of each episode, and writes the returns to TensorBoard, with
/// the number of the episode as the step.
void log_returns(run::RunContext& run, const std::string& name, const EpisodeReturns& returns) {
  std::string line = "return per episode, " + name + ":";
  for (std::size_t e = 0; e < returns.size(); ++e) {
    line += report::text_of(" %.1f", returns[e]);
    run.scalars.scalar("episodes/" + name, static_cast<std::int64_t>(e) + 1, returns[e]);
  }
  run.log.event({"note", {{"text", line}}});
}

void log_episodes(run::RunContext& run, const AdPlots::PerEpisode& episodes) {
  log_returns(run, "agent", episodes.late);
  if (!episodes.hide_rewards.empty()) log_returns(run, "hide_rewards", episodes.hide_rewards);
  if (!episodes.clear_context.empty()) log_returns(run, "clear_context", episodes.clear_context);
  const std::size_t count = episodes.late.size();
  log_returns(run, "source",
              {episodes.source.begin(),
               episodes.source.begin() +
                   static_cast<std::ptrdiff_t>(std::min(count, episodes.source.size()))});
  log_returns(run, "random", EpisodeReturns(count, episodes.random));
  log_returns(run, "optimum", EpisodeReturns(count, episodes.optimum));
}

}  // namespace

std::vector<EpisodeReturns> returns_by_task(const ad::HistorySet& histories) {
  const auto horizon = static_cast<std::size_t>(histories.shape().horizon);
  const auto episodes = static_cast<std::size_t>(histories.shape().episodes);
  std::map<std::int32_t, std::pair<EpisodeReturns, double>>
      sums;  // by task: sums of returns, number of histories
  for (std::size_t i = 0; i < histories.size(); ++i) {
    auto& [sum, count] = sums[histories.task()[i]];
    sum.resize(episodes, 0.0);
    const ad::History history = histories[i];
    for (std::size_t t = 0; t < history.reward.size(); ++t)
      sum[t / horizon] += history.reward[t];
    count += 1.0;
  }
  std::vector<EpisodeReturns> means;
  for (auto& [task, of_task] : sums) {
    for (double& sum : of_task.first)
      sum /= of_task.second;
    means.push_back(std::move(of_task.first));
  }
  return means;
}

AdPlots::Band band_of(const std::vector<EpisodeReturns>& by_task) {
  return by_task.size() < kGoalsOfBand ? AdPlots::Band{} : interval_of_mean(by_task);
}

AdPlots::Band interval_of_mean(const std::vector<EpisodeReturns>& by_task) {
  constexpr std::uint32_t kResamples = 2000;
  constexpr std::size_t kTail = kResamples / 40;  // means in a tail of 2.5 %
  const std::size_t tasks = by_task.size();
  AdPlots::Band interval;
  for (std::size_t e = 0; e < by_task.front().size(); ++e) {
    std::vector<double> means;
    for (std::uint32_t sample = 0; sample < kResamples; ++sample) {
      const RandomStream draws(0, Purpose::sampling, 0, sample);
      double sum = 0.0;
      for (std::size_t t = 0; t < tasks; ++t)
        sum += by_task[draws.below(static_cast<std::uint32_t>(tasks), t)][e];
      means.push_back(sum / static_cast<double>(tasks));
    }
    std::ranges::sort(means);
    interval.low.push_back(means[kTail]);
    interval.high.push_back(means[kResamples - 1 - kTail]);
  }
  return interval;
}

store::SealRequest results_request(const run::SealPlace& place, const FinalEvaluation& evaluation,
                                   const TrainCurves& curves, std::int64_t steps) {
  store::SealRequest request = run::seal_request(place, "train");
  request.tables = {{sample_table(evaluation.grid), evaluation.phase,
                     evaluation.chunk_size * evaluation.grid.episodes}};
  request.small_tables = {train_table(curves, steps), eval_table(curves)};
  return request;
}

EvaluationResult seal_results(run::RunContext& run, const ad::Environment& environment,
                              const FinalEvaluation& evaluation, const TrainCurves& curves,
                              std::int64_t steps) {
  const auto sealing = run.clock.enter("results");
  const store::SealRequest request =
      results_request({run.config, run.store, run.directory}, evaluation, curves, steps);
  store::seal(run.topology.world(), run.journal, request);
  EvaluationResult result;
  cluster::run_together(run.topology.world(), [&] {
    result =
        result_of(store::read_table(request.path, "samples"),
                  store::read_lists(request.path, "samples", "path"), evaluation.grid, environment);
  });
  return result;
}

void add_training_results(run::RunContext& run, const TrainVerdict& verdict,
                          run::JobOutcome& outcome) {
  AdPlots plots;
  fill_episodes(verdict, outcome.done, plots.episodes);
  log_episodes(run, plots.episodes);
  fill_curves(verdict, outcome.done, plots);
  plots.walks = verdict.result.walks;
  plots.last_episode = verdict.grid.episodes;
  plots.grid = verdict.environment.shape().width;
  plots.horizon = verdict.environment.horizon();
  plots.num_actions = verdict.environment.num_actions();

  const EpisodeReturns& returns = plots.episodes.late;
  const double loss = verdict.curves.step(outcome.done - 1).loss;
  outcome.results.push_back({"loss", "loss", loss, "nats", 4});
  outcome.result = report::text_of(
      "return on unseen goals %.1f in episode 1, %.1f in episode %d (source %.1f, random %.2f, "
      "optimum %.2f); loss %.4f",
      returns.front(), returns.back(), verdict.grid.episodes, plots.episodes.source.back(),
      plots.episodes.random, plots.episodes.optimum, loss);
  outcome.page = std::make_unique<AdPage>(std::move(plots));
}

}  // namespace mgpu::recipes
