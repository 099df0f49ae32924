// Represents kernel<<<grid, block, bytes, stream>>>(arguments), as translate.py writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>

#include "builtins.hpp"

namespace cudaemu {

struct Launch {
  std::string name;
  const void* kernel;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  std::function<void()> thread;  // the kernel's body with its arguments
  cudaStream_t stream = nullptr;
};

/// Queues a kernel in its stream. The null stream runs it at once, or with CUDAEMU_LAZY=1 at the
/// next wait. As in CUDA, a refused configuration becomes the last error.
void launch(Launch launch);

/// Returns how many kernels this process has launched.
std::int64_t launches();

/// Allows a kernel this much dynamic shared memory; returns false if an H100 has less.
bool allow_shared(const void* kernel, int bytes);

template <class... Parameters>
class Kernel {
public:
  Kernel(const char* name, void (*kernel)(Parameters...)) : name_(name), kernel_(kernel) {}

  auto on(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
          cudaStream_t stream = nullptr) const {
    return [=, name = name_, kernel = kernel_](const auto&... values) {
      const std::tuple<std::decay_t<Parameters>...> arguments(values...);
      launch({name, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes,
              [kernel, arguments] { std::apply(kernel, arguments); }, stream});
    };
  }

private:
  const char* name_;
  void (*kernel_)(Parameters...);
};

}  // namespace cudaemu
