#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/report/svg_chart.hpp>

namespace mgpu::recipes {

/// What job train shows of Algorithm Distillation: returns inside the context, curves over
/// steps, and paths. Empty members are left out of the page.
struct TrainPictures {
  /// Mean return of each episode of a context, goals never trained on; index 0 is episode 1.
  struct PerEpisode {
    std::vector<double> late;       // newest weights
    std::vector<double> late_low;   // band around it (standard deviation, interval); may be empty
    std::vector<double> late_high;  //
    std::string band;               // what the band is: "10 to 90 % of the goals"
    std::int64_t late_step = 0;
    std::vector<double> early;  // an early checkpoint
    std::int64_t early_step = 0;
    std::vector<double> source;         // the algorithm whose histories were distilled
    std::vector<double> hide_rewards;   // control: must stay at the bottom
    std::vector<double> clear_context;  // control: must not rise
    double random = 0.0;                // a uniform policy
    double optimum = 0.0;               // the best possible on these goals; 0: unknown
  };
  struct Walk {
    std::pair<int, int> goal;
    std::vector<std::pair<int, int>> first;  // cells of the first episode, start included
    std::vector<std::pair<int, int>> last;
    double first_return = 0.0;
    double last_return = 0.0;
  };

  PerEpisode episodes;
  int last_episode = 8;  // number of the episode that Walk::last shows
  report::Curve train_loss;
  report::Curve eval_return;  // mean over all episodes, by step
  report::Curve learning_rate;
  int grid = 9;
  std::vector<Walk> walks;
};

/// One sentence of result; says so where the return did not rise.
std::string train_headline(const TrainPictures& pictures, const report::RunSummary& summary);

/// The page of job train.
class TrainPage : public report::JobPage {
public:
  explicit TrainPage(TrainPictures pictures) : pictures_(std::move(pictures)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlReport page(const report::RunSummary& summary) const override;

private:
  TrainPictures pictures_;
};

}  // namespace mgpu::recipes
