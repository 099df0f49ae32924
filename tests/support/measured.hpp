#pragma once

#include <cstdio>
#include <string>

namespace mgpu::testing_support {

/// Prints a measured value and its limit: "measured: logits of llama 2.1e-06, at most 1e-05".
inline void print_measured(const std::string& what, double value, double limit) {
  std::printf("measured: %s %.2g, at most %.2g\n", what.c_str(), value, limit);
}

}  // namespace mgpu::testing_support
