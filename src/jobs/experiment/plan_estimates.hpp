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
  std::string basis{};           // source of the time: "guess: training", or "as in STAMP" with the
                                 // name of a run directory; "": the time is unknown
  std::uint64_t bytes = 0;       // largest memory that a rank needs
  std::uint64_t have_bytes = 0;  // memory available to this rank; 0: unknown
  report::Plan::Limit limit{};   // the memory limit with the largest Limit::used; Limit::what is ""
                                 // if no limit is known
  std::vector<report::Plan::Memory> memory{};  // parts of `bytes`
  std::string unknown{};  // why the job's plan could not be made; "" if it was made

  bool fits() const { return limit.what.empty() || limit.used <= 1.0; }
};

/// Estimates stages by the plans of their jobs. If a stage has a finished run, possibly with other
/// settings, the time of this run replaces the estimated time. If PlanMachine::cores is 0, the plan
/// is for GPUs that devices.gpu names. Such a plan does not use the times of finished runs, which
/// ran on other hardware.
class Estimator {
public:
  /// `plans` is the result of stage_plans(). All arguments must outlive the object.
  Estimator(const std::vector<Stage>& stages, const std::vector<StagePlan>& plans,
            const StagePlace& place, const run::PlanMachine& machine);

  /// Estimates a stage on `ranks` ranks. Before this call, call estimate() or skip() for each stage
  /// that is not reused and whose output this stage reads.
  /// Ranks:  local.
  /// Errors: those of Job::plan() and StandIns::make(). If Job::plan() fails because output of
  ///         another stage does not exist yet, sets StageEstimate::unknown instead of throwing.
  StageEstimate estimate(std::size_t stage, int ranks);

  /// Makes a stand-in for the output of a stage (StandIns) without estimating the stage. Stages
  /// that read the output of this stage can then be estimated.
  /// Ranks:  local.
  /// Errors: those of StandIns::make().
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
  // By stage: the run directory of a reused stage, or the folder of a stand-in.
  std::map<std::size_t, std::string> directories_{};
  std::vector<bool> is_new_;
};

}  // namespace mgpu::jobs
