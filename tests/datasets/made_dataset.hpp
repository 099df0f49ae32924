#pragma once

#include <map>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/datasets/registry.hpp>

namespace mgpu::datasets {

using Values = std::map<std::string, std::string>;

/// Makes the data set that these keys choose. Its split is `test` if data.split is `auto`.
inline DatasetRows made(const Values& values) {
  static const KeyTable kTable = [] {
    KeyTable table;
    add_common_keys(table, {"generate"});
    add_dataset_keys(table);
    return table;
  }();
  std::map<std::string, Config::Value, std::less<>> given;
  for (const auto& [name, text] : values)
    given[name].text = text;
  return *read_dataset(Config(kTable, std::move(given)), Split::test);
}

/// Returns the report of the failure of made(), or an empty report if made() succeeds.
inline ErrorReport failure_of(const Values& values) {
  try {
    made(values);
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

}  // namespace mgpu::datasets
