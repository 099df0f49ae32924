#pragma once

#include <memory>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {

/// Makes a communicator of backend nccl.
///
/// Errors: NotBuiltError in builds without CUDA, where cuda_absent.cpp defines this function.
std::unique_ptr<Communicator> make_nccl_communicator(const Group& group, Device device,
                                                     const CommunicatorOptions& options);

}  // namespace mgpu::cluster
