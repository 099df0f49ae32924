#pragma once

#include <string>
#include <string_view>

namespace mgpu {

/// Replaces a secret in printed text.
inline constexpr std::string_view kHidden = "***";

/// Returns whether a value with this name is secret: HF_TOKEN, hub.api_key, db-password, ...
bool is_secret_name(std::string_view name);

/// Returns the value of a setting, or kHidden if its name is secret.
std::string shown_value(std::string_view name, std::string_view value);

/// Replaces likely secrets in a line by kHidden. The word after a secret name (token=...,
/// password: ...) is replaced if it has at least six characters and is not a number. Words with the
/// form of a known token (hf_...) keep only their prefix. Users and passwords in URLs
/// (http://user:password@host) are replaced, too.
std::string redact(std::string_view line);

}  // namespace mgpu
