#pragma once

#include <filesystem>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {

/// Returns a Failure E605 (exit 65) about a result file of job collect whose columns contradict
/// each other. `where` names the place, such as "row 3".
inline Failure contradiction(const std::filesystem::path& path, const std::string& where) {
  return Failure({"E605",
                  ExitCode::data,
                  "the steps of " + where + " do not fit the nodes of the trees",
                  {"  --> " + path.string()},
                  "run job collect again"});
}

/// Parses the JSON list in a value of a text column.
/// Errors: JsonError if the text is not a list of type T.
template <class T>
T parse_list(const std::string& text) {
  return formats::parse_json_object("{\"list\": " + text + "}").get<T>("list");
}

}  // namespace mgpu::jobs
