#pragma once

#include <filesystem>

namespace mgpu::testing_support {

/// Returns the folder of the project's sources. It is no macro, so that the tests compile to the
/// same objects in every clone, and ccache finds them.
std::filesystem::path project_folder();

/// Returns the folder of model folders with small random weights, and of their expected values.
inline std::filesystem::path lm_goldens() {
  return project_folder() / "tests/lm/goldens";
}

/// Returns the model folder of the examples: a tokenizer, and the configuration of a small model.
inline std::filesystem::path tiny_lm() {
  return project_folder() / "conf/examples/tiny_lm/model";
}

}  // namespace mgpu::testing_support
