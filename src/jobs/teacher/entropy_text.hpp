#pragma once

#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// HTML: texts whose tokens are colored by the entropy of what the teacher said of them; what it
/// said stands at the foot of the window while a token is pointed at. "" without texts.
std::string entropy_html(const std::vector<ShownText>& texts);

/// A token as it stands in a list: in quotes, blanks and ends of lines made visible.
std::string quoted_token(const std::string& text);

}  // namespace mgpu::jobs
