#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace mgpu::jobs {

/// The facts about a stage that Schedule uses.
struct StageNeed {
  std::vector<std::size_t> after;  // indices of the stages that must be done before this stage
  std::vector<int> sizes;          // numbers of ranks that can run the stage, ascending; not empty
  int wish = 0;   // maximum number of ranks, unless the smallest of `sizes` is larger; 0: Schedule
                  // decides
  int round = 0;  // round of the stage; 0 if the stage uses no round
  double preference = 0.0;  // stages with a larger number come first
};

/// Which of the ready stages comes first, if their StageNeed::preference is equal.
enum class Urgency {
  chain,  // the stage with the longest chain of stages that wait for it
  round,  // a stage of the latest round; among these, the one with the shortest chain of stages
          // that wait for it
};

enum class StageState {
  waiting,   // it has not begun, or has failed and begins again; after Schedule::stop(), a waiting
             // stage does not begin in this run
  running,   // ranks work on it
  done,      // it ran to its end in this run
  reused,    // the results of an earlier run of the same stage are used
  failed,    // its job failed or is incomplete, or the stage could not begin
  left_out,  // a stage for which it waits, directly or not, failed
  stopped,   // a soft stop ended it; a resumed run continues it
};

/// Returns the name of a state in job_states.json, results.h5, report.html and messages.
const char* name_of(StageState state);

/// A stage, and the ranks that run it from now on.
struct Assignment {
  std::size_t stage = 0;
  std::vector<int> members;  // ascending
};

/// The host memory of each node, and the memory that stages need. All ranks of a node share the
/// memory of the node.
struct NodeMemory {
  std::vector<int> node_of{};          // node of each rank; empty: memory does not limit stages
  std::vector<std::uint64_t> bytes{};  // memory of each node that stages may use; 0: unknown

  /// Returns the largest number of bytes that a rank of a stage needs; 0 if unknown.
  std::function<std::uint64_t(std::size_t stage)> of_rank{};
};

/// Decides which stage runs next, and on which ranks. This class reads no configuration and sends
/// no messages. Of equally urgent stages, the one with the lowest index comes first.
///
/// If StageNeed::wish is 0, the ranks of a stage are limited to the largest of these numbers:
/// - the number of free ranks, divided by the number of ready stages
/// - an eighth of all ranks, so that only about eight such stages run at the same time. If more
///   stages ran, the last of them could run for a long time on few ranks.
/// - the smallest of StageNeed::sizes
///
/// Stages on a node run at the same time only if they fit into the node's memory together.
/// Otherwise a stage gets fewer ranks, or waits. If a stage needs more memory than a node has, it
/// can begin there only while no other stage uses the node.
class Schedule {
public:
  /// `ranks` is the number of ranks of the run. A rank counts as busy until free() is called for
  /// it. No stages may wait for each other in a cycle.
  Schedule(std::vector<StageNeed> stages, int ranks, Urgency urgency = Urgency::chain);

  /// Sets the memory of the nodes, in which stages that run at the same time must fit together.
  /// Without this call, memory does not limit stages. Call it before the first next().
  void limit_memory(NodeMemory memory);

  /// Returns NodeMemory::of_rank() of the stage; 0 if memory does not limit stages.
  std::uint64_t rank_bytes(std::size_t stage) const;

  StageState state(std::size_t stage) const { return states_.at(stage); }
  std::size_t size() const { return stages_.size(); }

  /// Returns the waiting stages for which all stages in StageNeed::after are done or reused, the
  /// most urgent stage first. The result is empty after stop().
  std::vector<std::size_t> ready() const;

  /// Marks a ready stage as reused, because an earlier run has its results.
  /// Errors: Error if the stage is not waiting, which is a bug of the caller.
  void reuse(std::size_t stage);

  /// Marks a ready stage as failed, because it could not begin. All stages that wait for this
  /// stage, directly or not, are left out.
  /// Errors: Error if the stage is not waiting, which is a bug of the caller.
  void fail(std::size_t stage);

  /// Makes a rank available.
  void free(int rank) { free_.insert(rank); }

  /// Assigns free ranks to the most urgent ready stage that they can run, and sets the stage's
  /// state to running. Returns nullopt if the free ranks can run no ready stage.
  std::optional<Assignment> next();

  /// Records how a running stage ended. If `state` is `failed`, all stages that wait for the stage,
  /// directly or not, are left out. If `state` is `stopped`, no other stage begins.
  void end(std::size_t stage, StageState state);

  /// Marks a running stage as waiting after its job has failed, so that it runs again.
  void retry(std::size_t stage);

  /// Prevents all waiting stages from beginning.
  void stop() { is_stopped_ = true; }
  bool is_stopped() const { return is_stopped_; }

  /// Returns the stages for which there were enough free ranks at some time, but not enough memory.
  const std::set<std::size_t>& waited_for_memory() const { return waited_for_memory_; }

  /// Returns whether no stage is running, and none can begin.
  bool is_over() const;

private:
  /// The bytes of memory that a stage needs on each node, by node.
  using Loads = std::map<int, std::uint64_t>;

  bool has_all_before(std::size_t stage) const;
  int ranks_for(const StageNeed& need, std::size_t num_ready) const;
  void unload(std::size_t stage);
  bool fits(int node, std::uint64_t bytes) const;
  bool is_unused(int node) const;
  std::vector<int> members_of(std::size_t stage, int count, bool may_exceed, Loads& loads) const;
  std::optional<Assignment> assign(std::size_t stage, int count, bool may_exceed);
  std::optional<Assignment> assign_most(std::size_t stage, int most);
  void leave_out_after(std::size_t stage);

  std::vector<StageNeed> stages_;
  std::vector<StageState> states_;
  std::vector<std::size_t> by_urgency_;
  std::set<int> free_;
  NodeMemory memory_;
  std::map<std::size_t, Loads> loads_;  // of each running stage
  std::vector<std::uint64_t> used_;     // bytes of each node that running stages use
  std::set<std::size_t> waited_for_memory_;
  int ranks_;
  bool is_stopped_ = false;
};

}  // namespace mgpu::jobs
