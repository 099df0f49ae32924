#pragma once

#include <filesystem>
#include <string>

#include "support/project_folder.hpp"

namespace mgpu::recipes {

/// Returns the path of a file of expected numbers, which tests/oracle writes.
inline std::filesystem::path golden_file(const std::string& name) {
  return testing_support::project_folder() / "tests/recipes/goldens" / (name + ".safetensors");
}

}  // namespace mgpu::recipes
