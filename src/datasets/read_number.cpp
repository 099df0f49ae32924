// Reads numbers in answers: 1,234.5, 3/4, \frac{3}{4}, 1 1/2, 1.5e3, 1.5 \times 10^3, 50%.
#include <algorithm>
#include <utility>

#include <mgpu/datasets/exact_number.hpp>

#include "characters.hpp"

namespace mgpu::datasets {
namespace {

constexpr std::size_t kMostFractionDigits = 10'000;
constexpr std::size_t kMostExponentDigits = 9;

/// Reads the number at the start of a text. number() may advance place() even when number() returns
/// nullopt.
class NumberReader {
public:
  explicit NumberReader(std::string_view text) : text_(text) {}

  std::size_t place() const { return at_; }

  std::optional<ExactNumber> number() {
    const bool negative = sign();
    blanks();
    std::optional<ExactNumber> found = unsigned_number();
    if (!found) return std::nullopt;
    if (negative && !found->top.digits.empty()) found->top.negative = !found->top.negative;
    found->is_percent = percent();
    return found;
  }

private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool has_digit(std::size_t ahead = 0) const { return is_digit(peek(ahead)); }

  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (peek() == ' ')
      ++at_;
  }
  bool sign() {
    if (take("-")) return true;
    take("+");
    return false;
  }

  /// Calls `work` and returns its result. Restores the reading position if the result is nullopt or
  /// false.
  template <class Work>
  auto attempt(Work work) {
    const std::size_t before = at_;
    auto result = work();
    if (!result) at_ = before;
    return result;
  }

  std::string digits() {
    std::string found;
    for (; has_digit(); ++at_)
      found += peek();
    return found;
  }

  /// Reads digits. After one to three digits that do not begin with 0, groups of a comma and three
  /// digits may follow, as in 1,234,567. Returns the digits without the commas.
  std::string grouped_digits() {
    std::string found = digits();
    if (found.empty() || found.size() > 3 || found[0] == '0') return found;
    while (peek() == ',' && has_digit(1) && has_digit(2) && has_digit(3) && !has_digit(4)) {
      ++at_;
      found += digits();
    }
    return found;
  }

  std::optional<Decimal> decimal() {
    std::string found = grouped_digits();
    std::string after;
    if (peek() == '.' && has_digit(1)) {
      ++at_;
      after = digits();
    }
    if (found.empty() && after.empty()) return std::nullopt;
    return Decimal::of(false, found + after, -static_cast<std::int64_t>(after.size()));
  }

  static std::optional<ExactNumber> fraction(const Decimal& top, const Decimal& bottom) {
    const std::size_t most = std::max(top.digits.size(), bottom.digits.size());
    if (bottom.digits.empty() || most > kMostFractionDigits) return std::nullopt;
    ExactNumber number{top, bottom};
    if (number.bottom.negative && !top.digits.empty()) number.top.negative = !top.negative;
    number.bottom.negative = false;
    return number;
  }

  /// Reads an argument of \frac: a digit, or a number in braces that may have a sign.
  std::optional<Decimal> argument() {
    blanks();
    if (has_digit()) return Decimal::of(false, text_.substr(at_++, 1), 0);
    if (!take("{")) return std::nullopt;
    blanks();
    const bool negative = sign();
    blanks();
    std::optional<Decimal> found = decimal();
    blanks();
    if (!found || !take("}")) return std::nullopt;
    if (!found->digits.empty()) found->negative = negative;
    return found;
  }

  std::optional<ExactNumber> latex_fraction() {
    return attempt([&]() -> std::optional<ExactNumber> {
      if (!take("\\frac")) return std::nullopt;
      const std::optional<Decimal> top = argument();
      const std::optional<Decimal> bottom = top ? argument() : std::nullopt;
      return bottom ? fraction(*top, *bottom) : std::nullopt;
    });
  }

  /// Reads a slash and a denominator. Returns the fraction with the numerator `top`.
  std::optional<ExactNumber> slash(const Decimal& top) {
    return attempt([&]() -> std::optional<ExactNumber> {
      blanks();
      if (!take("/")) return std::nullopt;
      blanks();
      const std::optional<Decimal> bottom = decimal();
      return bottom ? fraction(top, *bottom) : std::nullopt;
    });
  }

  std::optional<ExactNumber> plain_fraction() {
    return attempt([&]() -> std::optional<ExactNumber> {
      if (!take(" ") || !has_digit()) return std::nullopt;
      const std::optional<Decimal> top = decimal();
      return top ? slash(*top) : std::nullopt;
    });
  }

  /// Reads the fraction of a mixed number, such as 1/2 in 1 1/2. Returns the value of the mixed
  /// number, which is 3/2 in the example. `whole` is the integer before the fraction.
  std::optional<ExactNumber> mixed(const Decimal& whole) {
    if (whole.exponent < 0 || whole.digits.size() > kMostFractionDigits) return std::nullopt;
    return attempt([&]() -> std::optional<ExactNumber> {
      std::optional<ExactNumber> part = plain_fraction();
      if (!part) {
        blanks();
        part = latex_fraction();
      }
      if (!part || part->top.negative || part->top.exponent < 0 || part->bottom.exponent < 0)
        return std::nullopt;
      part->top = sum_of_integers(product(whole, part->bottom), part->top);
      return part;
    });
  }

  std::optional<std::int64_t> exponent() {
    const bool negative = sign();
    const std::string found = digits();
    if (found.empty() || found.size() > kMostExponentDigits) return std::nullopt;
    return negative ? -std::stoll(found) : std::stoll(found);
  }

  /// Reads a power of ten, such as e3, \times 10^3 or \times 10^{3}. Returns the exponent.
  std::optional<std::int64_t> power_of_ten() {
    return attempt([&]() -> std::optional<std::int64_t> {
      if (take("e") || take("E")) return exponent();
      blanks();
      if (!take("\\times") && !take("\\cdot") && !take("×") && !take("*")) return std::nullopt;
      blanks();
      if (!take("10^")) return std::nullopt;
      const bool has_brace = take("{");
      const std::optional<std::int64_t> found = exponent();
      return has_brace && !take("}") ? std::nullopt : found;
    });
  }

  std::optional<ExactNumber> unsigned_number() {
    if (std::optional<ExactNumber> found = latex_fraction()) return found;
    std::optional<Decimal> found = decimal();
    if (!found) return std::nullopt;
    if (std::optional<ExactNumber> divided = slash(*found)) return divided;
    if (std::optional<ExactNumber> with_part = mixed(*found)) return with_part;
    const std::optional<std::int64_t> power = power_of_ten();
    if (power && !found->digits.empty()) found->exponent += *power;
    return ExactNumber{*found};
  }

  bool percent() {
    return attempt([&] {
      blanks();
      if (take("%")) return true;
      return take("percent") && !is_letter(peek());
    });
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<NumberAtStart> read_number(std::string_view text) {
  NumberReader reader(text);
  std::optional<ExactNumber> number = reader.number();
  if (!number) return std::nullopt;
  return NumberAtStart{std::move(*number), reader.place()};
}

}  // namespace mgpu::datasets
