#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "rules.hpp"
#include "segment.hpp"
#include "transfer.hpp"

/// A communicator of the stand-in for NCCL. Its work runs in streams of the emulator. Separate
/// threads connect and finalize it.
struct ncclComm : std::enable_shared_from_this<ncclComm> {
public:
  using Transfers = std::vector<std::unique_ptr<nccl_standin::Transfer>>;

  ncclComm(int rank, int size) : rank_(rank), size_(size), rules_(rank) {}
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;
  ~ncclComm();

  ncclResult_t connect(const ncclUniqueId& id);
  ncclResult_t issue(nccl_standin::Call call, Transfers transfers, cudaStream_t stream);
  ncclResult_t finalize();
  ncclResult_t destroy();
  void abort();

  ncclResult_t state() const { return state_; }
  nccl_standin::Seat seat() { return {*segment_, rank_, size_, pieces_}; }
  nccl_standin::Rules& rules() { return rules_; }

  /// Announces a call of this thread. If two threads use the communicator at once, the process
  /// ends, because NCCL does not allow that.
  class InCall {
  public:
    InCall(ncclComm& comm, const char* name);
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
    ~InCall() { is_busy_ = false; }

  private:
    std::atomic<bool>& is_busy_;
  };

private:
  void meet(nccl_standin::Order order);
  void watch_members();
  bool share_a_gpu() const;
  void enqueue(std::shared_ptr<Transfers> transfers, cudaStream_t stream,
               nccl_standin::Order order);
  void work(Transfers& transfers, nccl_standin::Order order);
  nccl_standin::Progress step(Transfers& transfers);
  void end_together(nccl_standin::Order order);
  void look_at_peers();
  void look_lost();
  void fail(ncclResult_t error) { state_ = error; }
  bool has_failed() const { return state_ != ncclSuccess && state_ != ncclInProgress; }
  bool pause(double seconds) const;
  void until_aborted() const;
  template <class Condition>
  bool until(Condition condition);

  int rank_;
  int size_;
  nccl_standin::Rules rules_;
  nccl_standin::Segment segment_;
  std::uint64_t pieces_ = 0;
  std::array<int, nccl_standin::kMaxRanks> processes_{};  // descriptors; 0: none
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  std::atomic<int> outstanding_ = 0;
  std::atomic<bool> is_aborted_ = false;
  std::atomic<bool> is_busy_ = false;
  bool is_finalized_ = false;
};
