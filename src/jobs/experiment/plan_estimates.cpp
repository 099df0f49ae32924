#include "plan_estimates.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/plan_parts.hpp>

namespace mgpu::jobs {
namespace {

using report::Plan;

/// Returns the memory limit with the largest Limit::used. If the plan has no memory limit,
/// Limit::what of the result is empty.
Plan::Limit memory_limit(const Plan& plan) {
  Plan::Limit tightest;
  for (const Plan::Limit& limit : plan.limits)
    if (limit.key != "run.output" && (tightest.what.empty() || limit.used > tightest.used))
      tightest = limit;
  return tightest;
}

std::string names_of(const std::vector<Plan::Time>& times) {
  std::string names;
  for (const Plan::Time& time : times)
    if (time.seconds > 0.0) names += (names.empty() ? "guess: " : ", ") + time.what;
  return names.empty() ? "guess" : names;
}

}  // namespace

Estimator::Estimator(const std::vector<Stage>& stages, const std::vector<StagePlan>& plans,
                     const StagePlace& place, const run::PlanMachine& machine)
    : stages_(stages), place_(place), machine_(machine), is_new_(stages.size()) {
  for (std::size_t s = 0; s < plans.size(); ++s) {
    is_new_[s] = plans[s].earlier.empty();
    if (!is_new_[s]) directories_[s] = plans[s].earlier.string();
  }
}

/// Returns the machine with only `ranks` ranks. The estimate of a stage then assumes that no other
/// stage uses its nodes. Schedule checks that stages on the same node fit into its memory together.
run::PlanMachine Estimator::machine_of(int ranks) const {
  run::PlanMachine machine = machine_;
  machine.ranks = ranks;
  machine.ranks_per_node = std::min(ranks, machine_.ranks_per_node);
  return machine;
}

/// Returns whether the stage reads the output of a stage that has not run. The stand-in for that
/// output may lack files that a plan needs.
bool Estimator::may_lack_files(const Stage& stage) const {
  return std::ranges::any_of(stage.inputs, [&](const StageInput& input) {
    return is_new_[input.from] || std::ranges::any_of(input.earlier, [&](std::size_t earlier) {
             return is_new_[earlier];
           });
  });
}

void Estimator::add_plan(const Config& config, StageEstimate& estimate) const {
  const Plan plan = read_job(config)->plan(machine_of(estimate.ranks));
  estimate.memory = plan.memory;
  estimate.bytes = run::planned_bytes(plan);
  estimate.have_bytes = plan.card_bytes;
  estimate.limit = memory_limit(plan);
  estimate.basis = names_of(plan.times);
  for (const Plan::Time& time : plan.times)
    estimate.seconds += time.seconds;
}

/// Returns whether an error report names a file in a stand-in folder. Such a folder replaces the
/// run directory of a stage that has not run (StandIns).
bool Estimator::is_of_stand_in(const ErrorReport& report) const {
  const auto names_it = [&](const std::string& text) {
    return text.find(stand_ins_.path().string()) != std::string::npos;
  };
  return names_it(report.sentence) || std::ranges::any_of(report.lines, names_it);
}

/// Returns a text in which the path of each stand-in folder is replaced by words that name the
/// stage.
std::string Estimator::with_stage_names(std::string text) const {
  for (std::size_t s = stages_.size(); s-- > 0;) {  // descending: path/1 is a prefix of path/12
    const std::string folder = (stand_ins_.path() / std::to_string(s)).string();
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
      text.replace(at, folder.size(), "the outputs of stage " + stages_[s].name + ", ");
  }
  return text;
}

StageEstimate Estimator::estimate(std::size_t index, int ranks) {
  const Stage& stage = stages_[index];
  StageEstimate estimate{.ranks = ranks};
  const Config given = with_inputs(stage, directories_, /*is_plan=*/true);
  try {
    add_plan(with_chunk_size(given), estimate);
  } catch (const Failure& failure) {
    if (!may_lack_files(stage) || !is_of_stand_in(failure.report())) throw;
    estimate.unknown = with_stage_names(failure.report().sentence);
  }
  const bool is_this_machine = machine_.cores > 0;
  const auto measured = is_this_machine ? measured_work(place_, stage) : std::nullopt;
  if (measured) {
    estimate.seconds = measured->rank_seconds / ranks;
    estimate.basis = "as in " + measured->run.filename().string();
  }
  const ModelFiles files = estimate.unknown.empty() ? trained_model_files(given) : ModelFiles{};
  make_stand_in(index, files);
  return estimate;
}

void Estimator::make_stand_in(std::size_t stage, const ModelFiles& files) {
  directories_[stage] = stand_ins_.make(stages_, stage, files).string();
}

void Estimator::skip(std::size_t stage) {
  ModelFiles files;
  try {
    files = trained_model_files(with_inputs(stages_[stage], directories_, /*is_plan=*/true));
  } catch (const std::exception&) {
    // The stage reports this failure when it runs. The stand-in then has no model files, so the
    // memory of stages that read the model is unknown.
  }
  make_stand_in(stage, files);
}

}  // namespace mgpu::jobs
