#include "row_numbers.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace mgpu::recipes {

std::optional<double> number_of(const formats::JsonValue& value) {
  if (value.real() != nullptr) return *value.real();
  if (value.integer() != nullptr) return static_cast<double>(*value.integer());
  if (value.flag() != nullptr) return *value.flag() ? 1.0 : 0.0;
  if (value.text() == nullptr) return std::nullopt;
  const std::string& text = *value.text();
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace mgpu::recipes
