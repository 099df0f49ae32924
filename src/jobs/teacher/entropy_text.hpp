#pragma once

#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// HTML of texts whose tokens are colored by the entropy of the teacher's prediction. The
/// predictions for a token appear at the bottom of the window while the pointer is over it. ""
/// without texts.
std::string entropy_html(const std::vector<ShownText>& texts);

/// A token in quotes, with visible blanks and line ends.
std::string quoted_token(const std::string& text);

}  // namespace mgpu::jobs
