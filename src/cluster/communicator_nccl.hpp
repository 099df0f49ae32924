#pragma once

#include <memory>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {

/// Makes the backend in communicator_nccl.cpp; cuda_absent.cpp throws NotBuiltError instead.
std::unique_ptr<Communicator> make_nccl_communicator(const Group& group, Device device,
                                                     const CommunicatorOptions& options);

}  // namespace mgpu::cluster
