#include "project_folder.hpp"

namespace mgpu::testing_support {

std::filesystem::path project_folder() {
  return MGPU_SOURCE_DIR;
}

}  // namespace mgpu::testing_support
