#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/text_format.hpp>
#include <mgpu/run/plan_parts.hpp>

#include "earlier_runs.hpp"
#include "job.hpp"
#include "node_memory.hpp"
#include "plan_chart.hpp"
#include "plan_estimates.hpp"
#include "plan_simulation.hpp"

namespace mgpu::jobs {
namespace {

using report::Plan;

/// Makes the plan of an experiment: when each stage runs, and how much memory it needs.
class ExperimentPlan {
public:
  ExperimentPlan(const ExperimentConfig& keys, const Config& config, const StageGraph& graph,
                 const StagePlace& place, const run::PlanMachine& machine)
      : keys_(keys),
        graph_(graph),
        machine_(machine),
        plans_(stage_plans(graph.stages, place)),
        estimator_(graph.stages, plans_, place, machine),
        estimates_(graph.stages.size()),
        margin_(cluster::read_cluster_config(config).memory_margin),
        plan_(run::begin_plan(config, machine, "stages")) {}

  Plan make() {
    run_schedule();
    refuse_cards();
    add_notes();
    add_time();
    add_memory();
    return std::move(plan_);
  }

private:
  void run_schedule() {
    Schedule schedule(needs_of(graph_.stages), machine_.ranks, keys_.urgency);
    for (int rank = 0; rank < machine_.ranks; ++rank)
      schedule.free(rank);
    reuse(schedule);
    NodeMemory memory = memory_of_nodes(machine_, margin_);
    memory.of_rank = [&](std::size_t stage) { return rank_bytes(stage); };
    schedule.limit_memory(std::move(memory));
    times_ = simulate(schedule, [&](const Assignment& assignment) {
      return estimate(assignment.stage, static_cast<int>(assignment.members.size())).seconds;
    });
    waited_for_memory_ = schedule.waited_for_memory();
  }

  /// Returns the estimate of a stage on `ranks` ranks. All stages whose output this stage reads
  /// must be reused, or must already have an estimate.
  const StageEstimate& estimate(std::size_t stage, int ranks) {
    std::optional<StageEstimate>& known = estimates_[stage];
    if (!known || known->ranks != ranks) known = estimator_.estimate(stage, ranks);
    return *known;
  }

  /// Returns the bytes that a rank of the stage needs. Like a run, uses the estimate for the fewest
  /// ranks that the stage's job accepts. All stages whose output this stage reads must be reused,
  /// or must already have an estimate.
  std::uint64_t rank_bytes(std::size_t stage) {
    const auto [known, is_new] = rank_bytes_.try_emplace(stage, 0);
    if (is_new)
      known->second = estimator_.estimate(stage, graph_.stages[stage].sizes.front()).bytes;
    return known->second;
  }

  void reuse(Schedule& schedule) const {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const std::size_t stage : schedule.ready()) {
        if (plans_[stage].earlier.empty()) continue;
        schedule.reuse(stage);
        has_changed = true;
      }
    }
  }

  std::vector<std::size_t> unfit() const {
    std::vector<std::size_t> found;
    for (std::size_t s = 0; s < estimates_.size(); ++s)
      if (estimates_[s] && !estimates_[s]->fits()) found.push_back(s);
    return found;
  }

  /// Refuses the experiment if a stage needs more memory than a GPU of the machine has.
  /// Errors: Failure E301.
  void refuse_cards() const {
    const std::vector<std::size_t> unfit = this->unfit();
    if (unfit.empty() || machine_.device != DeviceKind::cuda) return;
    std::vector<std::vector<std::string>> rows{{"stage", "ranks", "memory", "key"}};
    for (const std::size_t s : unfit) {
      const Plan::Limit& limit = estimates_[s]->limit;
      rows.push_back({graph_.stages[s].name, std::to_string(estimates_[s]->ranks), limit.detail,
                      limit.fits.empty() ? limit.key : limit.fits + " fits"});
    }
    throw Failure({"E301", ExitCode::out_of_memory,
                   std::to_string(unfit.size()) + " of " + std::to_string(estimates_.size()) +
                       " stages do not fit the memory of " + machine_.gpu_name,
                   table_lines(rows), help_for(unfit)});
  }

  /// Returns the help text for stages that do not fit into memory. It suggests a value of the key
  /// experiment.models that leaves out the models of these stages. If no model would be left, or if
  /// none of the stages has a model, it suggests a smaller value in the file of the stage, or a
  /// larger GPU.
  std::string help_for(const std::vector<std::size_t>& unfit) const {
    std::set<std::string> large;
    for (const std::size_t s : unfit)
      if (const auto model = graph_.stages[s].values.find("model");
          model != graph_.stages[s].values.end())
        large.insert(model->second);
    std::string fitting;
    for (const std::string& model : keys_.matrix.models)
      if (!large.contains(model)) fitting += (fitting.empty() ? "" : ",") + model;
    if (!large.empty() && !fitting.empty()) return "experiment.models=[" + fitting + "]";
    return "a smaller value of the key in the stage's file, or a GPU with more memory";
  }

  void add_notes() {
    for (std::size_t s = 0; s < graph_.stages.size(); ++s)
      plan_.notes.push_back("stage " + graph_.stages[s].name + ": " +
                            description(graph_.stages, graph_.stages[s]) + "; " + plans_[s].text);
    for (std::size_t s = 0; s < graph_.stages.size(); ++s)
      if (estimates_[s] && !estimates_[s]->unknown.empty())
        plan_.notes.push_back(
            (estimates_[s]->basis.empty() ? "memory and time of " : "memory of ") +
            graph_.stages[s].name + (estimates_[s]->basis.empty() ? " are" : " is") +
            " unknown before the stages that it reads have run: " + estimates_[s]->unknown);
    for (const std::size_t s : waited_for_memory_)
      plan_.notes.push_back("stage " + graph_.stages[s].name + " waits until its memory fits");
    for (std::string& line : table_lines(stage_rows()))
      plan_.notes.push_back(std::move(line));
    for (std::string& line : chart_lines(times_, machine_.ranks))
      plan_.notes.push_back(std::move(line));
  }

  /// Returns the table of stages: a row with titles, and a row for each stage.
  std::vector<std::vector<std::string>> stage_rows() const {
    std::vector<std::vector<std::string>> rows{
        {"", "stage", "ranks", "begin", "end", "memory of a rank", "time"}};
    for (std::size_t s = 0; s < graph_.stages.size(); ++s) {
      std::vector<std::string>& row = rows.emplace_back(
          std::vector<std::string>{std::string(1, letter_of(s)), graph_.stages[s].name});
      if (!estimates_[s]) {
        row.insert(row.end(), {"", "", "", "", "reused"});
        continue;
      }
      row.insert(row.end(), {report::rank_list(times_[s].members), plan_time(times_[s].begin_s),
                             plan_time(times_[s].end_s), memory_text(*estimates_[s]),
                             time_text(*estimates_[s])});
    }
    return rows;
  }

  static std::string memory_text(const StageEstimate& estimate) {
    if (!estimate.unknown.empty()) return "unknown";
    std::string text = report::bytes_text(estimate.bytes);
    if (estimate.have_bytes > 0) text += " of " + report::bytes_text(estimate.have_bytes);
    return estimate.fits() ? text : text + " DOES NOT FIT";
  }

  static std::string time_text(const StageEstimate& estimate) {
    return estimate.basis.empty() ? "unknown, 0 assumed" : estimate.basis;
  }

  void add_time() {
    std::vector<StageNeed> needs = needs_of(graph_.stages);
    std::vector<double> work(needs.size());
    double end = 0.0;
    for (std::size_t s = 0; s < needs.size(); ++s) {
      if (estimates_[s]) work[s] = estimates_[s]->seconds * estimates_[s]->ranks;
      end = std::max(end, times_[s].end_s);
    }
    const TimeBound bound = time_bound(needs, work, machine_.ranks);
    const double idle = end > 0.0 ? 1.0 - bound.work_s / end : 0.0;
    plan_.times.push_back({"all stages", end,
                           "at least " + plan_time(bound.seconds()) + " (work / ranks " +
                               plan_time(bound.work_s) + ", longest chain " +
                               plan_time(bound.chain_s) + "); ranks idle " +
                               report::percent(idle)});
  }

  /// Adds the memory limit of each stage to the plan. Also sets the memory of the plan to that of
  /// the stage that needs the most memory per rank.
  void add_memory() {
    const StageEstimate* fullest = nullptr;
    for (std::size_t s = 0; s < estimates_.size(); ++s) {
      if (!estimates_[s] || estimates_[s]->limit.what.empty()) continue;
      Plan::Limit limit = estimates_[s]->limit;
      limit.what += ", stage " + graph_.stages[s].name;
      plan_.limits.push_back(std::move(limit));
      if (fullest == nullptr || estimates_[s]->bytes > fullest->bytes) fullest = &*estimates_[s];
    }
    if (fullest == nullptr) return;
    plan_.memory = fullest->memory;
    plan_.card_bytes = fullest->have_bytes;
  }

  const ExperimentConfig& keys_;
  const StageGraph& graph_;
  const run::PlanMachine& machine_;
  std::vector<StagePlan> plans_;
  std::set<std::size_t> waited_for_memory_{};
  std::map<std::size_t, std::uint64_t> rank_bytes_{};  // by stage, see rank_bytes()
  Estimator estimator_;
  std::vector<std::optional<StageEstimate>> estimates_;  // by stage; nullopt: the stage is reused
  std::vector<SimulatedStage> times_{};
  double margin_;
  Plan plan_;
};

}  // namespace

report::Plan ExperimentJob::plan(const run::PlanMachine& machine) const {
  StageGraph graph = read_graph(keys_, config_, FileProvider::alone());
  choose_sizes(graph.stages, machine.ranks);
  const StagePlace place{stages_folder(store::read_store_config(config_)), machine.device};
  return ExperimentPlan(keys_, config_, graph, place, machine).make();
}

}  // namespace mgpu::jobs
