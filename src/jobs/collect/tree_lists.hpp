#pragma once

#include <filesystem>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {

/// Makes the failure for a file of job collect whose columns contradict each other. `where`: "row
/// 3".
inline Failure contradiction(const std::filesystem::path& path, const std::string& where) {
  return Failure({"E605",
                  ExitCode::data,
                  "the steps of " + where + " do not fit the nodes of the trees",
                  {"  --> " + path.string()},
                  "run job collect again"});
}

/// Parses a JSON list of a text column. Errors: JsonError if the text is no such list.
template <class T>
T parse_list(const std::string& text) {
  return formats::parse_json_object("{\"list\": " + text + "}").get<T>("list");
}

}  // namespace mgpu::jobs
