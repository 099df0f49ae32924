#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::jobs {

/// A function that returns the text for ${name}; nullopt if the name is unknown, such as the name
/// of an environment variable.
using ReplaceName = std::function<std::optional<std::string>(const std::string& name)>;

/// Replaces each placeholder ${NAME} in the text of a stage file. A name may contain another
/// placeholder, as in ${stage.${algorithm}_train}. Does not change placeholders with unknown names,
/// the escape `$$`, or lines that are comments.
/// Errors: those of `replace`.
std::string replace_placeholders(std::string_view text, const ReplaceName& replace);

}  // namespace mgpu::jobs
