#pragma once

#include <string>
#include <string_view>

namespace mgpu {

/// The text that is printed in place of a secret.
inline constexpr std::string_view kHidden = "***";

/// Returns whether `name` is the name of a secret, such as HF_TOKEN, hub.api_key or db-password.
bool is_secret_name(std::string_view name);

/// Returns the value of a setting, or kHidden if its name is secret.
std::string shown_value(std::string_view name, std::string_view value);

/// Replaces likely secrets in a line by kHidden. The word after a secret name (token=...,
/// password: ...) is replaced if it has at least six characters and is not a number. Words with the
/// form of a known token (hf_...) keep only their prefix. Users and passwords in URLs
/// (http://user:password@host) are replaced, too.
std::string redact(std::string_view line);

}  // namespace mgpu
