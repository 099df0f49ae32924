#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace mgpu::text {

/// Returns the UTF-8 text `text` as a JSON string, with quotation marks and escapes.
inline std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      json += escape.data();
      continue;
    }
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

}  // namespace mgpu::text
