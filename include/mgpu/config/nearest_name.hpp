#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mgpu {

/// Returns the smallest number of insertions, deletions and replacements of letters, and swaps of
/// neighboring letters, that turn `a` into `b`. No letter is edited twice.
/// Source: optimal string alignment distance (Boytsov, ACM JEA 16, 2011, section 2.1).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the largest edit_distance() at which a name still counts as a misspelling of `word`: 1,
/// 2 or 3, depending on the length of `word`.
std::size_t tolerated_edits(std::string_view word);

/// Returns the name that is nearest to `word` by edit_distance(); the first one if several are
/// equally near. Returns "" if the distance of every name is above tolerated_edits(word).
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace mgpu
