#include "file_numbers.hpp"

#include <algorithm>
#include <charconv>

namespace mgpu::store {

std::optional<std::vector<std::uint32_t>> numbers_in(std::string_view name, std::string_view form) {
  constexpr std::size_t kMinDigits = 4;
  constexpr std::size_t kMaxDigits = 9;
  std::vector<std::uint32_t> numbers;
  for (const char c : form) {
    std::size_t bytes = 1;
    if (c == '#') {
      bytes = std::min(name.find_first_not_of("0123456789"), name.size());
      if (bytes < kMinDigits || bytes > kMaxDigits) return std::nullopt;
      std::from_chars(name.data(), name.data() + bytes, numbers.emplace_back());
    } else if (!name.starts_with(c)) {
      return std::nullopt;
    }
    name.remove_prefix(bytes);
  }
  if (!name.empty()) return std::nullopt;
  return numbers;
}

}  // namespace mgpu::store
