#pragma once

#include <cstdlib>

namespace mgpu::testing_support {

/// Returns how many mutants a test tries: `few`, or the number in MGPU_MUTANTS.
inline int mutants(int few) {
  const char* text = std::getenv("MGPU_MUTANTS");
  return text == nullptr ? few : std::atoi(text);
}

}  // namespace mgpu::testing_support
