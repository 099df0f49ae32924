#include <algorithm>
#include <cctype>
#include <cstddef>

#include <mgpu/base/error_page.hpp>

namespace mgpu {
namespace {

constexpr std::size_t kWidth = 80;

/// Returns `text` broken into lines of at most kWidth characters, each indented by two spaces.
std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const bool fits = column > 0 && column + 1 + end <= kWidth;
    if (column > 0) lines += fits ? " " : "\n";
    if (!fits) lines += "  ";
    column = (fits ? column + 1 : 2) + end;
    lines += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

const ErrorPage* find_error_page(std::span<const ErrorPage> pages, std::string_view code) {
  std::string upper(code);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = std::ranges::find(pages, std::string_view(upper), &ErrorPage::code);
  return found == pages.end() ? nullptr : &*found;
}

std::string error_page_text(const ErrorPage& page) {
  return std::string(page.code) + ": " + std::string(page.title) + "\n\n" + wrapped(page.meaning) +
         "\n\n" + wrapped(page.remedy) + "\n";
}

}  // namespace mgpu
