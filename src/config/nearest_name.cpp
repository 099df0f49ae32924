#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <mgpu/config/nearest_name.hpp>

namespace mgpu {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // These three rows of the table of distances are for the first i - 2, i - 1 and i letters of a.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows)
    row.resize(b.size() + 1);
  std::iota(rows[1].begin(), rows[1].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& [before, last, now] = rows;
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({replaced, last[j] + 1, now[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  }
  return rows[1].back();
}

std::size_t tolerated_edits(std::string_view word) {
  return std::clamp<std::size_t>((word.size() + 1) / 4, 1, 3);
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  std::string best;
  std::size_t best_distance = tolerated_edits(word) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace mgpu
