#pragma once

#include <map>
#include <string>

namespace mgpu::app {

struct BuildInfo {
  std::string version;                          // "0.1.0"
  std::string git;                              // "4f2c1e9, clean"; "unknown" outside a checkout
  std::map<std::string, std::string> versions;  // by name: "git", "cuda", "libtorch", ...
};

/// Returns this program's version and Git commit, and the versions of the libraries that it was
/// built with.
const BuildInfo& build_info();

}  // namespace mgpu::app
