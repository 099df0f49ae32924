#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/report/svg_chart.hpp>

namespace mgpu::recipes {

/// The data of the charts of recipe `ad`: returns by episode, curves over steps, and paths of the
/// agent. The page omits charts whose members are empty.
struct AdPlots {
  /// The lower and upper ends of a band around a curve of returns, one for each episode; empty: no
  /// band.
  struct Band {
    std::vector<double> low;
    std::vector<double> high;
  };
  struct PerEpisode {
    // Each list has the mean return of each episode of a rollout. Index 0 is episode 1. All lists
    // except `source` are for goals outside the training set.
    std::vector<double> late;  // returns with the newest weights
    Band late_band;
    std::string band;  // meaning of all bands: "95 % intervals of the mean over goals ..."
    std::int64_t late_step = 0;
    std::vector<double> early;  // returns in the first evaluation during training
    std::int64_t early_step = 0;
    std::vector<double> source;  // returns of the algorithm whose histories were distilled
    Band source_band;
    std::vector<double> hide_rewards;  // returns if rewards are hidden: should stay low
    Band hide_rewards_band;
    std::vector<double> clear_context;  // returns if the context is cleared: should not rise
    Band clear_context_band;
    double random = 0.0;   // mean return of uniformly random actions, over all goals
    double optimum = 0.0;  // best possible mean return on the unseen goals; 0: unknown
  };
  struct Walk {
    std::pair<int, int> goal;
    std::vector<std::pair<int, int>> first;  // cells of the first episode, beginning with the start
    std::vector<std::pair<int, int>> last;
    double first_return = 0.0;
    double last_return = 0.0;
  };

  PerEpisode episodes;
  int last_episode = 8;  // number of the last episode, which Walk::last shows
  report::Curve train_loss;
  report::Curve eval_return;  // mean return of all episodes, by optimizer step
  report::Curve learning_rate;
  int grid = 9;
  int horizon = 20;  // environment steps per episode
  int num_actions = 5;
  std::vector<Walk> walks;
};

/// Returns one sentence about the result. The possible rise is the best possible return minus the
/// return of the first episode. If the return rises by less than a quarter of the possible rise,
/// the sentence states that the agent does not yet learn inside its context. With fewer than two
/// episodes, returns report::plain_headline().
std::string ad_headline(const AdPlots& plots, const report::RunSummary& summary);

/// Makes report.html of recipe ad and its part of summary.json.
class AdPage : public report::JobPage {
public:
  explicit AdPage(AdPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  AdPlots plots_;
};

}  // namespace mgpu::recipes
