#pragma once

#include <cstddef>

struct CUstream_st;
struct CUevent_st;

/// The CUDA calls on which device_work.hpp is built. The file cuda_calls.cpp defines these
/// functions. In a build without CUDA, cuda_absent.cpp defines them: the functions free_*() do
/// nothing, and all others throw NotBuiltError.
namespace mgpu::cluster::cuda {

void set_device(int index);
CUstream_st* make_stream();
void stream_wait(CUstream_st* stream, CUevent_st* event);
void free_stream(CUstream_st* stream) noexcept;

CUevent_st* make_event();
void record(CUevent_st* event, CUstream_st* stream);
bool has_happened(CUevent_st* event);
void wait(CUevent_st* event);
void free_event(CUevent_st* event) noexcept;

std::byte* allocate(std::size_t bytes);
void free_memory(std::byte* data) noexcept;
std::byte* allocate_pinned(std::size_t bytes);
void free_pinned(std::byte* data) noexcept;

void copy(void* into, const void* from, std::size_t bytes, CUstream_st* stream);
void zero(void* into, std::size_t bytes, CUstream_st* stream);

}  // namespace mgpu::cluster::cuda
