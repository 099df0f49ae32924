#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Lets ranks that share a GPU use NCCL. A separate host id makes each rank look like a node, so
/// NCCL finds no second rank on the card and uses sockets. Sockets are slow, so this is for tests
/// of logic only. Call it before the first NCCL call of the process.
inline void let_ranks_share_a_gpu(int rank) {
  setenv("NCCL_HOSTID", ("rank" + std::to_string(rank)).c_str(), 1);
  for (const char* setting :
       {"NCCL_NET=Socket", "NCCL_SOCKET_IFNAME=lo", "NCCL_IB_DISABLE=1", "NCCL_P2P_DISABLE=1",
        "NCCL_SHM_DISABLE=1", "NCCL_NVLS_ENABLE=0", "NCCL_MNNVL_ENABLE=0", "NCCL_MAX_CTAS=1",
        "NCCL_ALGO=Ring", "NCCL_PROTO=Simple", "NCCL_RAS_ENABLE=0"}) {
    const std::string text(setting);
    const std::size_t equals = text.find('=');
    setenv(text.substr(0, equals).c_str(), text.c_str() + equals + 1, 1);
  }
}

/// Returns this rank's GPU, or the CPU if no GPU is visible. Ranks beyond the number of GPUs share
/// them. Collective.
inline Device gpu_for_test(const Group& world) {
  const auto gpus = static_cast<int>(visible_gpus().gpus.size());
  const int fewest = world.all_reduce(gpus, ReduceOp::min);
  if (fewest == 0) return {};
  if (fewest < world.size()) {
    if (world.rank() == 0) std::printf("%d ranks share %d GPU(s)\n", world.size(), fewest);
    let_ranks_share_a_gpu(world.rank());
  }
  return {DeviceKind::cuda, world.rank() % fewest};
}

}  // namespace mgpu::cluster
