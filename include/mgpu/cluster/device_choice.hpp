#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::cluster {

struct GpuInfo {
  std::string name;                // "NVIDIA A100-SXM4-80GB"
  std::string uuid;                // "GPU-e7b3bccd-...": identifies the card in every process
  std::uint64_t memory_bytes = 0;  // size of the GPU's memory
};

struct VisibleGpus {
  std::vector<GpuInfo> gpus;  // index: CUDA ordinal
  std::string why_none;       // why `gpus` is empty; "" if it is not
};

/// Returns the GPUs that this process may use. The list is empty without a driver, or in a build
/// without CUDA.
///
/// Errors: Failure E206 (exit 69) when there are GPUs but CUDA does not work.
VisibleGpus visible_gpus();

/// The devices that one rank can see.
struct RankDevices {
  RankPlace place;
  std::vector<std::string> uuids;    // of the visible GPUs, by CUDA ordinal
  std::string why_none;              // why `uuids` is empty; "" if it is not
  std::string cuda_visible_devices;  // value of CUDA_VISIBLE_DEVICES; "" if not set
  std::string nccl_host_id;          // value of NCCL_HOSTID; "" if not set
};

struct DevicePlan {
  Backend backend = Backend::mpi;
  std::vector<Device> devices;  // by world rank
  std::string note;             // why the backend and the devices were chosen, for the banner and
                                // for an attribute of the run's results
};

/// Chooses the backend, and assigns a device to each rank. If devices.backend is auto, the backend
/// is mpi when no rank sees a GPU and devices.gpus is `all`. Otherwise auto gives nccl, or staged
/// when ranks share a GPU.
///
/// With backend mpi, every rank gets the CPU. With nccl and staged, every rank gets a GPU. Let r be
/// the rank's index within its node (RankPlace::node_rank). If devices.gpus is `all`, the rank gets
/// GPU r modulo n, where n is the number of GPUs that it sees. This is correct whether a task sees
/// all GPUs of its node (mpirun, --gres) or only one (--gpus-per-task). If devices.gpus is a list,
/// the rank gets element r modulo the length of the list.
///
/// If devices.backend is nccl, ranks may share a GPU only if every rank has a different
/// NCCL_HOSTID. This is a slow way to try NCCL on one card.
///
/// Errors: Failure with exit 69: E201 when an id in devices.gpus is out of range. E202 when
///         devices.backend is nccl and ranks would share a GPU without different NCCL_HOSTIDs. E203
///         when the backend is not mpi and a rank sees no GPU. E205 when devices.gpus lists more
///         ids than a node has ranks; also when it lists fewer and devices.backend is not staged.
///         Failure E204 (exit 78) when devices.gpus is an empty list.
DevicePlan plan_devices(std::span<const RankDevices> ranks, const ClusterConfig& config);

struct DeviceChoice {
  DevicePlan plan;  // equal on all ranks
  Device device;    // device of this rank
  GpuInfo gpu;      // GPU of this rank; empty on the CPU
};

/// Finds the GPUs that each rank sees, unless devices.backend is mpi, and assigns a device to each
/// rank by plan_devices().
///
/// Ranks:  collective over the topology's world.
/// Errors: those of plan_devices() and visible_gpus(), on every rank.
DeviceChoice choose_device(const Topology& topology, const ClusterConfig& config);

}  // namespace mgpu::cluster
