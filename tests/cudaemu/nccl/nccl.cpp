// Emulates the functions of NCCL. The process ends if a communicator is used after its end, or if
// two threads make or end calls of one communicator at once.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <nccl.h>

#include "communicator.hpp"

using nccl_standin::Answer;
using nccl_standin::Call;

namespace {

/// The communicators that have not ended. Never destroyed, as threads may outlive main().
struct Alive {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> all;
};

Alive& alive() {
  static auto* the_alive = new Alive;
  return *the_alive;
}

std::shared_ptr<ncclComm> find(ncclComm_t comm, const char* name) {
  const std::lock_guard lock(alive().mutex);
  const auto found = alive().all.find(comm);
  if (found != alive().all.end()) return found->second;
  std::fprintf(stderr, "cudaemu: %s of a communicator that has ended\n", name);
  std::abort();
}

void forget(ncclComm_t comm) {
  const std::lock_guard lock(alive().mutex);
  alive().all.erase(comm);
}

/// The calls between ncclGroupStart() and ncclGroupEnd(), all of one communicator and stream.
struct Group {
  bool is_open = false;
  ncclResult_t result = ncclSuccess;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm::Transfers transfers;
};
thread_local Group group;

/// Adds a transfer to the open group, and returns the group's result so far. A rule for `call` has
/// an effect only if its answer is `error`.
ncclResult_t add_to_group(ncclComm_t comm, Call call, cudaStream_t stream,
                          std::unique_ptr<nccl_standin::Transfer> transfer) {
  const bool is_first = group.transfers.empty();
  if (!is_first && (group.comm != comm || group.stream != stream)) group.result = ncclInvalidUsage;
  if (comm->rules().next(call).answer == Answer::error) group.result = ncclSystemError;
  group.comm = comm;
  group.stream = stream;
  group.transfers.push_back(std::move(transfer));
  return group.result;
}

ncclResult_t issue(ncclComm_t comm, Call call, cudaStream_t stream,
                   std::unique_ptr<nccl_standin::Transfer> transfer) {
  if (group.is_open) return add_to_group(comm, call, stream, std::move(transfer));
  ncclComm::Transfers transfers;
  transfers.push_back(std::move(transfer));
  return comm->issue(call, std::move(transfers), stream);
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  nccl_standin::Rules rules(0);
  if (rules.next(Call::get_unique_id).answer == Answer::error) return ncclSystemError;
  return nccl_standin::Segment::make(*id) ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  *comm = nullptr;
  if (config->blocking != 0 || size > nccl_standin::kMaxRanks) return ncclInvalidArgument;
  const auto made = std::make_shared<ncclComm>(rank, size);
  const ncclResult_t result = made->connect(id);
  if (result != ncclInProgress) return result;
  const std::lock_guard lock(alive().mutex);
  alive().all[made.get()] = made;
  *comm = made.get();
  return result;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto found = find(comm, "ncclCommFinalize");
  const ncclComm::InCall inside(*found, "ncclCommFinalize");
  return found->finalize();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const auto found = find(comm, "ncclCommDestroy");
  const ncclComm::InCall inside(*found, "ncclCommDestroy");
  const ncclResult_t result = found->destroy();
  forget(comm);
  return result;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  find(comm, "ncclCommAbort")->abort();
  forget(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = find(comm, "ncclCommGetAsyncError")->state();
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  return "from the stand-in for NCCL";
}

ncclResult_t ncclGroupStart() {
  group = {};
  group.is_open = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  Group ended = std::exchange(group, {});
  if (ended.result != ncclSuccess || ended.transfers.empty()) return ended.result;
  const auto found = find(ended.comm, "ncclGroupEnd");
  const ncclComm::InCall inside(*found, "ncclGroupEnd");
  return found->issue(Call::group, std::move(ended.transfers), ended.stream);
}

ncclResult_t ncclAllReduce(const void* from, void* into, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const auto found = find(comm, "ncclAllReduce");
  const ncclComm::InCall inside(*found, "ncclAllReduce");
  return issue(comm, Call::all_reduce, stream,
               make_all_reduce(found->seat(), from, into, count, type, op));
}

ncclResult_t ncclBroadcast(const void* from, void* into, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  const auto found = find(comm, "ncclBroadcast");
  const ncclComm::InCall inside(*found, "ncclBroadcast");
  return issue(
      comm, Call::broadcast, stream,
      make_broadcast(found->seat(), from, into, count * nccl_standin::size_of(type), root));
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  const auto found = find(comm, "ncclSend");
  const ncclComm::InCall inside(*found, "ncclSend");
  return issue(comm, Call::send, stream,
               make_send(found->seat(), from, count * nccl_standin::size_of(type), peer));
}

ncclResult_t ncclRecv(void* into, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const auto found = find(comm, "ncclRecv");
  const ncclComm::InCall inside(*found, "ncclRecv");
  return issue(comm, Call::receive, stream,
               make_receive(found->seat(), into, count * nccl_standin::size_of(type), peer));
}
