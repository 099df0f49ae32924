#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace mgpu::jobs {

/// The needs of a stage that the schedule considers.
struct StageNeed {
  std::vector<std::size_t> after;  // stages that must be done before, by index
  std::vector<int> sizes;          // numbers of ranks that can run the stage, ascending; not empty
  int wish = 0;                    // most ranks that the stage gets; 0: see Schedule
  int round = 0;                   // round of the stage
  double preference = 0.0;         // stages with a larger number come first
};

/// Which of the ready stages comes first, if their StageNeed::preference is equal.
enum class Urgency {
  chain,  // the stage with the longest chain of stages after it
  round,  // a stage of the latest round; of these, the one with the shortest chain
};

enum class StageState {
  waiting,   // another stage must be done first, or no rank is free
  running,   // ranks work on it
  done,      // it ran in this run
  reused,    // an earlier run did the same stage
  failed,    // its session failed, or it is incomplete
  left_out,  // a stage before it failed
  stopped,   // a soft stop ended it; a resumed run continues it
};

/// Returns the name of a state in job_states.json and on the page.
const char* name_of(StageState state);

/// A stage, and the ranks that run it now.
struct Assignment {
  std::size_t stage = 0;
  std::vector<int> members;  // ascending
};

/// The memory of nodes, which the ranks of a node share.
struct NodeMemory {
  std::vector<int> node_of{};          // node of each rank; empty: the memory is not considered
  std::vector<std::uint64_t> bytes{};  // of each node, what stages may fill; 0: unknown

  /// Returns the memory that a rank of a stage needs if `ranks` ranks run it, in bytes; 0: unknown.
  std::function<std::uint64_t(std::size_t stage, int ranks)> of_rank{};
};

/// Decides which stage runs next, and on which ranks. It knows no configuration and sends no
/// messages. Equally urgent stages come by ascending index.
///
/// A stage with StageNeed::wish 0 gets an equal share of the free ranks, but not less than an
/// eighth of all ranks if that many are free. This limits how many stages run at a time. If many
/// ran at a time, the last ones would run long on few ranks.
///
/// Stages on a node run at the same time only if their memory fits there. A stage gets fewer ranks,
/// or waits, if it does not fit beside others. If it does not fit alone, it runs alone.
class Schedule {
public:
  /// `ranks`: number of ranks of the run; all are busy until free() is called. The stages must form
  /// no cycle.
  Schedule(std::vector<StageNeed> stages, int ranks, Urgency urgency = Urgency::chain);

  /// Keeps stages apart whose memory does not fit. Call it before the first next().
  void limit_memory(NodeMemory memory);

  StageState state(std::size_t stage) const { return states_.at(stage); }
  std::size_t size() const { return stages_.size(); }

  /// Returns the waiting stages whose earlier stages are done, the most urgent first. It is empty
  /// after stop().
  std::vector<std::size_t> ready() const;

  /// Marks a ready stage as done by an earlier run.
  void reuse(std::size_t stage);

  /// Marks a ready stage as failed before it began, and leaves out all stages after it.
  void fail(std::size_t stage);

  /// Makes a rank available.
  void free(int rank) { free_.insert(rank); }

  /// Assigns free ranks to the most urgent ready stage that they can run. Such a stage is running
  /// from now on. Returns nullopt if the free ranks can run no ready stage.
  std::optional<Assignment> next();

  /// Records how a running stage ended. If it failed, all stages after it are left out. If it was
  /// stopped, no other stage begins.
  void end(std::size_t stage, StageState state);

  /// Lets a running stage that failed wait again.
  void retry(std::size_t stage);

  /// Lets no other stage begin.
  void stop() { is_stopped_ = true; }

  /// Returns the stages that had enough free ranks, but had to wait for memory.
  const std::set<std::size_t>& waited_for_memory() const { return waited_for_memory_; }

  /// Returns whether no stage is running, and none can begin.
  bool is_over() const;

private:
  /// A node, and the memory that a stage needs there in bytes.
  using Loads = std::map<int, std::uint64_t>;

  bool has_all_before(std::size_t stage) const;
  int ranks_for(const StageNeed& need, std::size_t num_ready) const;
  void unload(std::size_t stage);
  bool fits(int node, std::uint64_t bytes) const;
  std::vector<int> members_of(std::size_t stage, int count, Loads& loads) const;
  std::optional<Assignment> assign(std::size_t stage, int most);
  void leave_out_after(std::size_t stage);

  std::vector<StageNeed> stages_;
  std::vector<StageState> states_;
  std::vector<std::size_t> by_urgency_;
  std::set<int> free_;
  NodeMemory memory_;
  std::map<std::size_t, Loads> loads_;  // of running stages
  std::vector<std::uint64_t> used_;     // of each node, the sum of loads_
  std::set<std::size_t> waited_for_memory_;
  int ranks_;
  bool is_stopped_ = false;
};

}  // namespace mgpu::jobs
