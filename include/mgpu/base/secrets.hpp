#pragma once

#include <string>
#include <string_view>

namespace mgpu {

/// What stands in the place of a secret.
inline constexpr std::string_view kHidden = "***";

/// Whether a value under this name must not be shown: HF_TOKEN, hub.api_key, db-password, ...
bool is_secret_name(std::string_view name);

/// The value of a setting, or kHidden by its name.
std::string shown_value(std::string_view name, std::string_view value);

/// One line without what looks like a secret: words of six letters and more behind such a name
/// (token=..., password: ...), and what has the form of one (hf_...).
std::string redact(std::string_view line);

}  // namespace mgpu
