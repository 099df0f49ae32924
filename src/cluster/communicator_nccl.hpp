#pragma once

#include <memory>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {

/// Defined in communicator_nccl.cpp, or in cuda_absent.cpp, which throws NotBuiltError.
std::unique_ptr<Communicator> make_nccl_communicator(const Group& group, Device device,
                                                     const CommunicatorOptions& options);

}  // namespace mgpu::cluster
