#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::report {

/// Formats a string as printf does.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

/// Formats a time as "0:52:50". A time above a day is shown in hours, as "30:00:00". A time that is
/// negative or not finite gives "-".
std::string h_mm_ss(double seconds);

/// Formats a time as "52:50", or "1:30:00" from one hour on. With `tenths`, times below ten minutes
/// look like "0:07.3". A time that is negative or not finite gives "-".
std::string m_ss(double seconds, bool tenths = false);

/// Formats a point in time as "2026-11-21T10:42:07Z".
std::string utc_seconds(std::chrono::system_clock::time_point when);
/// Formats a point in time as "2026-11-21T10:42:07.123Z".
std::string utc_millis(std::chrono::system_clock::time_point when);

/// Formats bytes with binary units and one decimal: "17 B", "3.4 MiB", "79.3 GiB".
std::string bytes_text(std::uint64_t bytes);

/// Formats a speed: two decimals below 10, one below 100, whole numbers below 100,000, then "123k"
/// and "12.3M". A speed that is not finite gives "-".
std::string rate_text(double per_second);

/// Formats a whole number with commas: "412,300".
std::string grouped(std::int64_t value);

/// Formats a number of things: "1 prompt", "412,300 prompts". The plural must be `noun` with an s.
std::string counted(std::int64_t count, std::string_view noun);

/// Formats a share in [0, 1] as "41.3 %".
std::string percent(double share, int decimals = 1);

/// Formats ascending ranks as "0-2,5"; "" for an empty list.
std::string rank_list(const std::vector<int>& ranks);

/// Counts the code points of UTF-8 text. For texts of the program itself, this is the width on a
/// terminal.
std::size_t width_of(std::string_view text);

/// Returns `text`, filled up with spaces on the right to `width` code points.
std::string pad_right(std::string_view text, std::size_t width);
/// Returns `text`, filled up with spaces on the left to `width` code points.
std::string pad_left(std::string_view text, std::size_t width);

/// Returns `text`, cut to at most `width` code points. A cut text ends in "...".
std::string clip(std::string_view text, std::size_t width);

}  // namespace mgpu::report
