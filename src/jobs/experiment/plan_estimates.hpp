#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

#include "earlier_runs.hpp"
#include "plan_stand_ins.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// The estimated time and memory of a stage.
struct StageEstimate {
  int ranks = 0;
  double seconds = 0.0;
  std::string basis{};           // how the time was found: "guess: training"
  std::uint64_t bytes = 0;       // memory of the fullest rank
  std::uint64_t have_bytes = 0;  // memory that this rank may use; 0: unknown
  report::Plan::Limit limit{};   // the tightest limit of memory; `what` is "" if none is known
  std::vector<report::Plan::Memory> memory{};  // parts of `bytes`
  std::string unknown{};  // why there is neither memory nor time; "" if there is

  bool fits() const { return limit.what.empty() || limit.used <= 1.0; }
};

/// Estimates stages by the plans of their jobs. The time of a finished run of the stage with other
/// settings replaces the estimated one, unless the plan is for another machine.
class Estimator {
public:
  /// `plans`: see stage_plans(). All arguments must outlive the object.
  Estimator(const std::vector<Stage>& stages, const std::vector<StagePlan>& plans,
            const StagePlace& place, const run::PlanMachine& machine);

  /// Estimates a stage on `ranks` ranks. The stages before it must be reused or estimated. Local.
  /// Errors: those of Job::plan(). If a stage reads output that does not exist yet, the result has
  ///         StageEstimate::unknown instead.
  StageEstimate estimate(std::size_t stage, int ranks);

  /// Lets later stages be estimated without an estimate of this one. Local.
  void skip(std::size_t stage);

private:
  run::PlanMachine machine_of(int ranks) const;
  void make_stand_in(std::size_t stage, const ModelFiles& files);
  bool may_lack_files(const Stage& stage) const;
  bool is_of_stand_in(const ErrorReport& report) const;
  std::string with_stage_names(std::string text) const;
  void add_plan(const Config& config, StageEstimate& estimate) const;

  const std::vector<Stage>& stages_;
  const StagePlace& place_;
  const run::PlanMachine& machine_;
  StandIns stand_ins_{};
  std::map<std::size_t, std::string> directories_{};  // of reused stages, and of stand-ins
  std::vector<bool> is_new_;
};

}  // namespace mgpu::jobs
