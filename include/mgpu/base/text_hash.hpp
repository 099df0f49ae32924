#pragma once

#include <cstdint>
#include <string_view>

namespace mgpu {

/// Returns the 64-bit FNV-1a hash of a text, which is the same on every machine. Callers use the
/// hash to select the RandomStream of a sample that has a name or a text instead of a number.
constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace mgpu
