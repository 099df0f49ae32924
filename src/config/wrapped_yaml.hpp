#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

/// Breaks YAML text of one line into lines of 4 KiB, so that read_yaml() accepts it
/// (YamlLimits::kLineBytes). A line ends after a comma between two items, or, within double quotes,
/// with a backslash. Later lines are indented by `indent` spaces. Text in single quotes, and a
/// plain scalar, stay on one line.
std::string wrapped_yaml(std::string_view text, std::size_t indent);

}  // namespace mgpu
