#pragma once

#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/report/event_log.hpp>

namespace mgpu::report {

/// Describes a rank in the header of its log.
struct RankIdentity {
  int rank = 0;
  int ranks = 1;
  int worker = 0;  // index of the rank's group, from 0, as in "Worker 2/4"
  int workers = 1;
  std::string host;
  std::string visible_devices;  // CUDA_VISIBLE_DEVICES; "" when it is not set
  std::string device;           // "cuda:0 GPU-e7b3bccd", "cpu"
};

/// Writes the events of one rank to logs/rank_NN.log. It writes "debug" events only with -v.
class RankLog : public EventSink {
public:
  /// Opens the log in `folder` and writes its header.
  /// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
  RankLog(const fs::path& folder, const RankIdentity& who, Verbosity verbosity = Verbosity::normal,
          ReportClock clock = ReportClock::real());

  /// Writes an event. A failed write, such as on a full disk, is not thrown here but by check().
  void event(const Event& event) override;

  void check() const { file_.check(); }

private:
  LineFile file_;
  Verbosity verbosity_;
  ReportClock clock_;
};

/// Returns "rank_05.log", with as many digits as the highest rank has, but at least two.
std::string rank_log_name(int rank, int ranks);

/// One warning and the ranks that gave it.
struct SharedWarning {
  std::string text;
  std::vector<int> ranks;  // ascending

  /// Returns a "warn" event with the text "ranks 0-3,5: text".
  Event as_event() const;
};

/// Gathers the warnings of all ranks on rank 0, and combines equal warnings into one. Other ranks
/// get an empty list. The list is sorted by the lowest rank that gave the warning. Warnings with
/// the same lowest rank keep the order in which that rank gave them.
/// `mine`: the warnings of this rank.
///
/// Ranks:  collective over `group`. Call it at boundaries, such as an evaluation, a checkpoint or
///         the end of the run.
std::vector<SharedWarning> gather_warnings(const cluster::Group& group,
                                           const std::vector<std::string>& mine);

}  // namespace mgpu::report
