#pragma once

#include <memory>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {

/// Makes a communicator of backend nccl. In builds without CUDA, cuda_absent.cpp throws
/// NotBuiltError.
std::unique_ptr<Communicator> make_nccl_communicator(const Group& group, Device device,
                                                     const CommunicatorOptions& options);

}  // namespace mgpu::cluster
