#include <algorithm>
#include <vector>

#include <mgpu/datasets/exact_number.hpp>

namespace mgpu::datasets {
namespace {

bool same_value(const ExactNumber& a, const ExactNumber& b) {
  if (a.bottom == b.bottom) return a.top == b.top;
  return product(a.top, b.bottom) == product(b.top, a.bottom);
}

ExactNumber hundredth(ExactNumber number) {
  if (!number.top.digits.empty()) number.top.exponent -= 2;
  return number;
}

/// Returns the digits of an integer that is not negative, with its zeros at the end.
std::string all_digits(const Decimal& number) {
  return number.digits + std::string(static_cast<std::size_t>(number.exponent), '0');
}

}  // namespace

Decimal Decimal::of(bool negative, std::string_view digits, std::int64_t exponent) {
  const std::size_t begin = digits.find_first_not_of('0');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = digits.find_last_not_of('0') + 1;
  return {negative, std::string(digits.substr(begin, end - begin)),
          exponent + static_cast<std::int64_t>(digits.size() - end)};
}

Decimal product(const Decimal& a, const Decimal& b) {
  std::vector<std::uint32_t> sums(a.digits.size() + b.digits.size(), 0);
  for (std::size_t i = a.digits.size(); i-- > 0;) {
    std::uint32_t carry = 0;
    for (std::size_t j = b.digits.size(); j-- > 0;) {
      carry +=
          sums[i + j + 1] + static_cast<std::uint32_t>((a.digits[i] - '0') * (b.digits[j] - '0'));
      sums[i + j + 1] = carry % 10;
      carry /= 10;
    }
    sums[i] = carry;
  }
  std::string digits;
  for (const std::uint32_t digit : sums)
    digits += static_cast<char>('0' + digit);
  return Decimal::of(a.negative != b.negative, digits, a.exponent + b.exponent);
}

Decimal sum_of_integers(const Decimal& a, const Decimal& b) {
  std::string longer = all_digits(a);
  std::string shorter = all_digits(b);
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  shorter.insert(0, longer.size() - shorter.size(), '0');
  int carry = 0;
  for (std::size_t i = longer.size(); i-- > 0;) {
    carry += (longer[i] - '0') + (shorter[i] - '0');
    longer[i] = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  if (carry > 0) longer.insert(0, 1, '1');
  return Decimal::of(false, longer, 0);
}

bool same_number(const ExactNumber& a, const ExactNumber& b) {
  if (same_value(a, b)) return true;
  if (a.is_percent == b.is_percent) return false;
  return a.is_percent ? same_value(hundredth(a), b) : same_value(a, hundredth(b));
}

}  // namespace mgpu::datasets
