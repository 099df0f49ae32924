#include "tree_figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kViewCharacters = 600;
constexpr int kShades = 8;  // CSS classes e1 to e8

/// Returns the text that appears when the pointer is over a step, or when the step is clicked.
std::string view_of(const ReadStep& step, std::size_t path, std::size_t number) {
  return report::text_of("Path %zu, step %zu: value %.2f, %d of %d answers are right (+- %.2f)\n",
                         path, number, step.value, step.right, step.visits, step.standard_error) +
         report::clip(step.text, kViewCharacters);
}

std::string cell_html(const ReadStep& step, std::size_t path, std::size_t number) {
  const auto shade = static_cast<int>(std::lround(kShades * std::clamp(step.value, 0.0, 1.0)));
  return report::text_of("<td><span class=\"t e%d\" tabindex=\"0\" data-view=\"", shade) +
         report::escape_html(view_of(step, path, number)) + "\">" +
         report::text_of("%.2f</span></td>", step.value);
}

std::string path_html(const ReadPath& path, std::size_t number, std::size_t columns) {
  std::string html = report::text_of("<tr><th scope=\"row\">path %zu</th>", number);
  const std::size_t drawn = std::min(path.steps.size(), kDrawnSteps);
  for (std::size_t s = 0; s < drawn; ++s)
    html += cell_html(path.steps[s], number, s + 1);
  for (std::size_t s = drawn; s < columns; ++s)
    html += "<td></td>";
  const std::string cut = drawn < path.steps.size() ? "... " : "";
  return html + "<td>" + cut + (path.is_right ? "right" : "wrong") + "</td></tr>\n";
}

}  // namespace

std::string html_step_tree(const CollectPlots::Shown& shown) {
  const std::size_t paths = std::min(shown.tree.paths.size(), kDrawnPaths);
  std::size_t columns = 0;
  for (std::size_t p = 0; p < paths; ++p)
    columns = std::max(columns, std::min(shown.tree.paths[p].steps.size(), kDrawnSteps));
  std::string html = "<div class=\"scroll\"><table class=\"tree\"><tr><th></th>";
  for (std::size_t s = 0; s < columns; ++s)
    html += report::text_of("<th scope=\"col\">step %zu</th>", s + 1);
  html += "<th scope=\"col\">answer</th></tr>\n";
  for (std::size_t p = 0; p < paths; ++p)
    html += path_html(shown.tree.paths[p], p, columns);
  return html + "</table></div>\n";
}

}  // namespace mgpu::jobs
