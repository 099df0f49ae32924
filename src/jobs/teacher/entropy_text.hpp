#pragma once

#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Returns HTML of texts whose tokens are colored by the entropy of the teacher's prediction. While
/// the pointer is over a token, the most probable predictions for it appear at the bottom of the
/// window. Returns "" without texts.
std::string entropy_html(const std::vector<ShownText>& texts);

/// Returns a token in quotes, with visible blanks and line ends.
std::string quoted_token(const std::string& text);

}  // namespace mgpu::jobs
