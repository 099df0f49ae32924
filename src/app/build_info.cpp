#include <torch/version.h>

#include <mgpu/app/build_info.hpp>

namespace mgpu::app {

const BuildInfo& build_info() {
  static const BuildInfo kInfo{MGPU_VERSION,
                               MGPU_GIT,
                               {{"mgpu_spmd", MGPU_VERSION},
                                {"git", MGPU_GIT},
                                {"cuda", MGPU_CUDA_VERSION},
                                {"libtorch", TORCH_VERSION}}};
  return kInfo;
}

}  // namespace mgpu::app
