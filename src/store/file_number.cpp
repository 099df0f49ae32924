#include "file_number.hpp"

#include <algorithm>
#include <charconv>

namespace mgpu::store {

std::optional<std::uint32_t> take_file_number(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = name.substr(prefix.size());
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits < 4 || digits > 9) return std::nullopt;
  std::uint32_t number = 0;
  std::from_chars(rest.data(), rest.data() + digits, number);
  name.remove_prefix(prefix.size() + digits);
  return number;
}

}  // namespace mgpu::store
