#pragma once

#include <map>
#include <string>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::testing_support {

using Keys = std::map<std::string, std::string>;

/// Returns the configuration that these keys give on the command line. Local.
inline Config config_of(const Keys& keys) {
  app::Options options;
  for (const auto& [name, value] : keys)
    options.overrides.push_back(
        {name, value, "command line", name + "=" + value, static_cast<int>(name.size()) + 2});
  return app::load_config(options, app::program_keys(), FileProvider::alone());
}

/// Returns the report of the Failure that `work` throws; an empty report if it throws none.
template <class Work>
ErrorReport report_of_failure(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

}  // namespace mgpu::testing_support
