#pragma once

#include <cstring>
#include <string>

#include "../include/cudaemu/block.hpp"

namespace cudaemu {

inline bool is_same(const Place& a, const Place& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

inline std::string text_of(const Place& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line());
}

}  // namespace cudaemu
