#include "cuda_half.hpp"

#if MGPU_CUDA
#include <string>

#include <dlfcn.h>
#endif

#include <mgpu/base/error.hpp>

namespace mgpu::tensor {

#if MGPU_CUDA
namespace {

/// Loads the library with libtorch's CUDA kernels. The library registers the kernels while it is
/// loaded.
void* open_library() {
  void* library = ::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  throw Failure({"E206",
                 ExitCode::unavailable,
                 "libtorch's CUDA kernels cannot be loaded",
                 {std::string("  ") + ::dlerror()},
                 "launch/run.sh looks after libtorch; devices.backend=mpi computes on the CPU"});
}

}  // namespace

void load_cuda_half() {
  [[maybe_unused]] static void* const kLibrary = open_library();
}
#else
void load_cuda_half() {
  throw NotBuiltError("CUDA");
}
#endif

}  // namespace mgpu::tensor
