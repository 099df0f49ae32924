#include <mgpu/app/build_info.hpp>

namespace mgpu::app {

const BuildInfo& build_info() {
  static const BuildInfo kInfo{MGPU_VERSION,
                               MGPU_GIT,
                               {{"mgpu_spmd", MGPU_VERSION},
                                {"git", MGPU_GIT},
                                {"cuda", MGPU_CUDA_VERSION},
                                {"nccl", MGPU_NCCL_VERSION},
                                {"hdf5", MGPU_HDF5_VERSION},
                                {"libtorch", MGPU_TORCH_VERSION}}};
  return kInfo;
}

}  // namespace mgpu::app
