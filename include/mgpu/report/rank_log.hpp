#pragma once

#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/report/event_log.hpp>

namespace mgpu::report {

/// The rank that writes a log, for its header.
struct RankIdentity {
  int rank = 0;
  int ranks = 1;
  int worker = 0;  // index of its model group, from 0, as in "Worker 2/4"
  int workers = 1;
  std::string host;
  std::string visible_devices;  // CUDA_VISIBLE_DEVICES; "" when it is not set
  std::string device;           // "cuda:0 GPU-e7b3bccd", "cpu"
};

/// Writes the events of one rank to logs/rank_NN.log, but "debug" events only with -v. It keeps the
/// warnings until take_warnings().
class RankLog : public EventSink {
public:
  /// Writes the header. Errors: Failure E601, E602.
  RankLog(const fs::path& folder, const RankIdentity& who, Verbosity verbosity = Verbosity::normal,
          ReportClock clock = ReportClock::real());

  /// Never throws for a full disk: see LineFile.
  void event(const Event& event) override;

  /// Returns the fields of the "warn" events since the last call, as event_fields() writes them.
  std::vector<std::string> take_warnings();

  void check() const { file_.check(); }

private:
  LineFile file_;
  Verbosity verbosity_;
  ReportClock clock_;
  std::vector<std::string> warnings_;
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

/// Joins equal warnings of different ranks. The order is that of the lowest rank with the warning,
/// then the order in which that rank gave its warnings. Rank 0 gets the list; other ranks get an
/// empty one.
///
/// Ranks:  collective over `group`: call it at boundaries (evaluation, checkpoint, end).
std::vector<SharedWarning> gather_warnings(const cluster::Group& group,
                                           const std::vector<std::string>& mine);

}  // namespace mgpu::report
