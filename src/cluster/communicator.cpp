#include <mgpu/cluster/communicator.hpp>

#include "communicator_mpi.hpp"
#include "communicator_nccl.hpp"
#include "communicator_staged.hpp"

namespace mgpu::cluster {

std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::mpi:
      return "mpi";
    case Backend::nccl:
      return "nccl";
    case Backend::staged:
      return "staged";
  }
  throw Error("unknown Backend");
}

std::unique_ptr<Communicator> make_communicator(const Group& group, Backend backend, Device device,
                                                const CommunicatorOptions& options) {
  switch (backend) {
    case Backend::mpi:
      return std::make_unique<MpiCommunicator>(group, options);
    case Backend::nccl:
      return make_nccl_communicator(group, device, options);
    case Backend::staged:
      return std::make_unique<StagedCommunicator>(group, device, options);
  }
  throw Error("unknown Backend");
}

}  // namespace mgpu::cluster
