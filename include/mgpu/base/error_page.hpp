#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

/// The text that --explain prints about an error code. Each module lists the pages of its codes
/// in its file error_pages.hpp.
struct ErrorPage {
  std::string_view code;     // "E101"
  std::string_view title;    // what is wrong, in a few words
  std::string_view meaning;  // when it occurs
  std::string_view remedy;   // what to do
};

/// Returns the page of an error code; nullptr if no page has that code. "e101" finds E101.
const ErrorPage* find_error_page(std::span<const ErrorPage> pages, std::string_view code);

/// Formats the page as text. `meaning` and `remedy` are broken into lines of at most 80 characters.
std::string error_page_text(const ErrorPage& page);

}  // namespace mgpu
