#include <algorithm>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 1040;
constexpr double kLeft = 112;   // width of the names of ranks
constexpr double kMap = 320;    // width of the layers or heads
constexpr double kTimes = 572;  // left end of the time bars
constexpr double kTime = 350;   // width of the longest bar
constexpr double kTop = 46;
constexpr double kRow = 24;
constexpr double kBetween = 8;  // space between copies of the model

/// The layers or heads [first, last) that a rank holds, out of `all`. `what` is "layer" or "head".
struct Parts {
  std::int64_t first, last, all;
  const char* what;
};

bool shares_heads(const RankMap& map) {
  return std::ranges::any_of(map.ranks, [&](const RankPart& rank) {
    return rank.last_head - rank.first_head < map.heads;
  });
}

Parts parts_of(const RankPart& rank, const RankMap& map, bool by_heads) {
  if (by_heads) return {rank.first_head, rank.last_head, map.heads, "head"};
  return {rank.first_layer, rank.last_layer, map.layers, "layer"};
}

std::string range_text(const Parts& parts) {
  if (parts.last - parts.first == parts.all)
    return "all " + report::grouped(parts.all) + ' ' + parts.what + 's';
  if (parts.last - parts.first == 1)
    return std::string(parts.what) + ' ' + report::grouped(parts.first);
  return std::string(parts.what) + "s " + report::grouped(parts.first) + " to " +
         report::grouped(parts.last - 1);
}

void draw_parts(report::Svg& svg, const Parts& parts, double y) {
  const double each = kMap / static_cast<double>(std::max<std::int64_t>(parts.all, 1));
  const double gap = each >= 6 ? 1.5 : 0.0;
  svg.rect({kLeft, y}, {kMap, kRow - 7}, "ph-none", 2);
  if (gap == 0.0) {
    svg.rect({kLeft + each * static_cast<double>(parts.first), y},
             {each * static_cast<double>(parts.last - parts.first), kRow - 7}, "c1 bar");
  } else {
    for (std::int64_t i = parts.first; i < parts.last; ++i)
      svg.rect({kLeft + each * static_cast<double>(i), y}, {each - gap, kRow - 7}, "c1 bar", 2);
  }
}

void draw_times(report::Svg& svg, const RankPart& rank, double longest, double y) {
  const double whole = rank.busy_s + rank.waiting_s + rank.idle_s;
  if (whole <= 0.0 || longest <= 0.0) return;
  double x = kTimes;
  const auto piece = [&](double seconds, const char* css, const char* what) {
    const double width = kTime * seconds / longest;
    svg.rect(
        {x, y}, {width, kRow - 7}, css, 0.0,
        report::text_of("%s: %.2f s, %s", what, seconds, report::percent(seconds / whole).c_str()));
    x += width;
  };
  piece(rank.busy_s, "ph-forward", "busy");
  piece(rank.waiting_s, "ph-wait", "waiting for ranks of its copy");
  piece(rank.idle_s, "ph-other", "without samples");
  svg.text({kTimes + kTime + 12, y + 13}, report::percent(rank.busy_s / whole) + " busy", "tick");
}

void draw_legend(report::Svg& svg, bool by_heads, bool has_times) {
  svg.text({kLeft, kTop - 14}, by_heads ? "heads of each layer" : "layers, first to last",
           "axis-name");
  if (!has_times) return;
  double x = kTimes;
  for (const auto& [css, words] : {std::pair{"ph-forward", "busy"},
                                   {"ph-wait", "waiting for its copy"},
                                   {"ph-other", "without samples"}}) {
    svg.rect({x, kTop - 24}, {11, 11}, css, 2);
    svg.text({x + 16, kTop - 14}, words, "legend");
    x += 40.0 + 6.6 * static_cast<double>(report::width_of(words));
  }
}

}  // namespace

std::string svg_rank_map(const RankMap& map) {
  if (map.ranks.empty()) return "";
  const std::size_t shown = std::min(map.ranks.size(), kShownRanks);
  const bool by_heads = shares_heads(map);
  double longest = 0.0;
  for (const RankPart& rank : map.ranks)
    longest = std::max(longest, rank.busy_s + rank.waiting_s + rank.idle_s);
  const auto copies = static_cast<double>(map.ranks[shown - 1].group);
  report::Svg svg(kWidth, kTop + kRow * static_cast<double>(shown) + kBetween * copies + 4,
                  "Share of the model and use of time by rank");
  draw_legend(svg, by_heads, longest > 0.0);
  for (std::size_t r = 0; r < shown; ++r) {
    const RankPart& rank = map.ranks[r];
    const double y =
        kTop + kRow * static_cast<double>(r) + kBetween * static_cast<double>(rank.group);
    if (r == 0 || map.ranks[r - 1].group != rank.group)
      svg.text({0, y + 13}, "copy " + report::grouped(rank.group), "tick");
    svg.text({kLeft - 8, y + 13}, report::text_of("rank %zu", r), "tick", report::Anchor::end);
    const Parts parts = parts_of(rank, map, by_heads);
    svg.open("");
    draw_parts(svg, parts, y);
    svg.close();
    svg.text({kLeft + kMap + 8, y + 13}, range_text(parts), "tick");
    draw_times(svg, rank, longest, y);
  }
  return svg.str();
}

}  // namespace mgpu::jobs
