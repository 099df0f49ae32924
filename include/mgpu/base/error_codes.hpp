#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

/// What --explain prints about an error code.
struct ErrorPage {
  std::string_view code;     // "E101"
  std::string_view title;    // what is wrong, in a few words
  std::string_view meaning;  // when it comes up
  std::string_view remedy;   // what to do
};

/// All codes, in their order.
std::span<const ErrorPage> error_pages();

/// nullptr when there is no such code; "e101" finds E101.
const ErrorPage* find_error_page(std::string_view code);

/// The page as text, lines of at most 80 characters.
std::string error_page_text(const ErrorPage& page);

}  // namespace mgpu
