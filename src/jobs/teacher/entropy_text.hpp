#pragma once

#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Returns HTML of texts whose tokens are colored by the entropy of the teacher's prediction. While
/// the mouse pointer is over a token, or the token has the focus, the bottom of the browser window
/// shows the most probable predictions for that token. Returns "" without texts.
std::string entropy_html(const std::vector<ShownText>& texts);

/// Returns a token in quotes, with visible blanks, tabs and line ends. For an empty text, returns a
/// note that the next token completes it.
std::string quoted_token(const std::string& text);

}  // namespace mgpu::jobs
