#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string calendar(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

}  // namespace

std::string text_of(const char* format, ...) {
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string h_mm_ss(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto whole = static_cast<long long>(std::llround(seconds));
  return text_of("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string m_ss(double seconds, bool tenths) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (tenths && seconds < 599.95) {
    const auto tenth = static_cast<long long>(std::llround(seconds * 10));
    return text_of("%lld:%02lld.%lld", tenth / 600, tenth / 10 % 60, tenth % 10);
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole >= 3600) return h_mm_ss(seconds);
  return text_of("%lld:%02lld", whole / 60, whole % 60);
}

std::string utc_seconds(std::chrono::system_clock::time_point when) {
  return calendar(std::chrono::floor<std::chrono::seconds>(when)) + "Z";
}

std::string utc_millis(std::chrono::system_clock::time_point when) {
  const auto second = std::chrono::floor<std::chrono::seconds>(when);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(when - second);
  return calendar(second) + text_of(".%03dZ", static_cast<int>(millis.count()));
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024.0;
    ++unit;
  }
  return text_of("%.1f %s", value, kUnits[unit]);
}

std::string rate_text(double per_second) {
  if (!std::isfinite(per_second)) return "-";
  const double size = std::fabs(per_second);
  if (size < 9.995) return text_of("%.2f", per_second);
  if (size < 99.95) return text_of("%.1f", per_second);
  if (size < 99999.5) return text_of("%.0f", per_second);
  if (size < 999499.5) return text_of("%.0fk", per_second / 1e3);
  if (size < 99.95e6) return text_of("%.1fM", per_second / 1e6);
  return text_of("%.0fM", per_second / 1e6);
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t sign = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return grouped(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

std::string percent(double share, int decimals) {
  return text_of("%.*f %%", decimals, share * 100.0);
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += '-' + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text)
    width += is_continuation(c) ? 0U : 1U;
  return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
  std::string padded(text);
  const std::size_t have = width_of(text);
  if (have < width) padded.append(width - have, ' ');
  return padded;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

std::string clip(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  const std::size_t keep = width > 3 ? width - 3 : 0;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (!is_continuation(text[bytes]) && seen++ == keep) break;
  }
  return std::string(text.substr(0, bytes)) + std::string("...").substr(0, width);
}

}  // namespace mgpu::report
