#pragma once

#include <cstdlib>

namespace mgpu::testing_support {

/// Returns how many mutants a test tries: `few`, or the number in MGPU_MUTANTS.
inline int mutants(int few) {
  const char* wanted = std::getenv("MGPU_MUTANTS");
  return wanted == nullptr ? few : std::atoi(wanted);
}

}  // namespace mgpu::testing_support
