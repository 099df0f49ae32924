#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace mgpu {

/// Returns the number after the word `name` in a text file. If `name` is "", returns the number at
/// the beginning of the file. Returns nullopt if the file or the number is missing.
inline std::optional<std::uint64_t> number_in_file(const std::filesystem::path& path,
                                                   const std::string& name = "") {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (name.empty()) return file >> number ? std::optional(number) : std::nullopt;
  for (std::string word; file >> word;)
    if (word == name) return file >> number ? std::optional(number) : std::nullopt;
  return std::nullopt;
}

}  // namespace mgpu
