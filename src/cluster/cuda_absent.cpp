// Replaces cuda_calls.cpp and communicator_nccl.cpp in builds without a CUDA toolkit.
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/device_choice.hpp>

#include "communicator_nccl.hpp"
#include "cuda_calls.hpp"

namespace mgpu::cluster {

VisibleGpus visible_gpus() {
  return {{}, "this program was built without CUDA"};
}

std::unique_ptr<Communicator> make_nccl_communicator(const Group& /*group*/, Device /*device*/,
                                                     const CommunicatorOptions& /*options*/) {
  throw NotBuiltError("NCCL");
}

namespace cuda {

void set_device(int /*index*/) {
  throw NotBuiltError("CUDA");
}

CUstream_st* make_stream() {
  throw NotBuiltError("CUDA");
}

void stream_wait(CUstream_st* /*stream*/, CUevent_st* /*event*/) {
  throw NotBuiltError("CUDA");
}

void free_stream(CUstream_st* /*stream*/) noexcept {}

CUevent_st* make_event() {
  throw NotBuiltError("CUDA");
}

void record(CUevent_st* /*event*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

bool has_happened(CUevent_st* /*event*/) {
  throw NotBuiltError("CUDA");
}

void wait(CUevent_st* /*event*/) {
  throw NotBuiltError("CUDA");
}

void free_event(CUevent_st* /*event*/) noexcept {}

std::byte* allocate(std::size_t /*bytes*/) {
  throw NotBuiltError("CUDA");
}

void free_memory(std::byte* /*data*/) noexcept {}

std::byte* allocate_pinned(std::size_t /*bytes*/) {
  throw NotBuiltError("CUDA");
}

void free_pinned(std::byte* /*data*/) noexcept {}

void copy(void* /*into*/, const void* /*from*/, std::size_t /*bytes*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void zero(void* /*into*/, std::size_t /*bytes*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

}  // namespace cuda
}  // namespace mgpu::cluster
