#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::datasets {

/// A decimal number of any length: digits * 10^exponent, with a sign. The first and the last digit
/// are not 0, so that equal numbers have equal fields. Zero has no digits.
struct Decimal {
  bool negative = false;
  std::string digits{};
  std::int64_t exponent = 0;

  /// Makes the number `digits` * 10^exponent, with a minus sign if `negative` is true. `digits` may
  /// begin and end with zeros.
  static Decimal of(bool negative, std::string_view digits, std::int64_t exponent);

  bool operator==(const Decimal&) const = default;
};

/// Returns the exact product. The time is proportional to the product of the numbers of digits.
Decimal product(const Decimal& a, const Decimal& b);

/// Returns the exact sum of two integers that are not negative.
Decimal sum_of_integers(const Decimal& a, const Decimal& b);

/// A rational number: top / bottom, where bottom is not zero.
struct ExactNumber {
  Decimal top{};
  Decimal bottom{false, "1", 0};
  bool is_percent = false;  // a percent sign follows; `top` / `bottom` is the number before it
};

/// Returns whether two numbers are equal, without rounding. A percentage is equal to the number
/// before its sign, and also to a hundredth of that number. So 50 % is equal to both 50 and 0.5.
bool same_number(const ExactNumber& a, const ExactNumber& b);

/// A number at the start of a text.
struct NumberAtStart {
  ExactNumber number{};
  std::size_t length = 0;  // bytes of the text that the number takes
};

/// Reads the number that `text` begins with; nullopt if it begins with anything else. `text` must
/// be a result of plain_answer(), or a part of one. The page docs/datasets.md lists the forms of a
/// number.
///
/// The numerator and the denominator of a fraction, and the integer of a mixed number, have at most
/// 10,000 digits. Other numbers have any length, but an exponent has at most 9 digits.
std::optional<NumberAtStart> read_number(std::string_view text);

}  // namespace mgpu::datasets
