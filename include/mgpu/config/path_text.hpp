#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <mgpu/config/key_value.hpp>

namespace mgpu {

/// Returns the value of an environment variable; "" if it is not set. All ranks get the value of
/// the rank that reads the configuration.
using ReadVariable = std::function<std::string(const std::string& name)>;

/// The longest path that is accepted, in bytes: PATH_MAX without its NUL.
inline constexpr std::size_t kMaxPathBytes = 4095;

/// Replaces the `~` in a path `~` or `~/...` with $HOME. Replaces each `$NAME` or `${NAME}` with
/// the value of that environment variable. `$$` becomes `$`; a `$` before any other character, or
/// at the end, stays.
/// Errors: a ValueProblem E115 for a variable that is not set or is empty, for `${` that is not
///         followed by a name and `}`, and for `~NAME`; E106 for a path that becomes too long; E110
///         for a variable with control characters or bytes that are not UTF-8.
std::variant<std::string, ValueProblem> expand_path(std::string_view text,
                                                    const ReadVariable& variable);

/// Returns the text that expand_path() turns into the absolute path `path`.
std::string unexpanded_path(std::string_view path);

/// Unescapes the value of a key that is not a path, as written in a configuration file: `$${`
/// becomes `${`. Returns nullopt if the value has any other `${`, which is a mistake.
std::optional<std::string> literal_text(std::string_view text);

/// Returns the text that literal_text() turns into `text`.
std::string escaped_text(std::string_view text);

}  // namespace mgpu
