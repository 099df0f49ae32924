#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr double kWidth = 1040;
constexpr double kLeft = 62;
constexpr double kLegendRow = 18;
constexpr double kAxis = 30;
constexpr const char* kOther = "ph-other";
constexpr double kVisibleShare = 0.01;  // phases with a smaller share of the time are in "other"
constexpr std::size_t kFreeColors = 8;  // number of CSS classes ph-0, ph-1, ... of phase_classes()

/// Returns the share of each phase in the time of all ranks.
std::vector<double> shares_of(const PhaseTable& table) {
  std::vector<double> shares(table.phases.size(), 0.0);
  double all = 0.0;
  for (const RankPhases& rank : table.ranks)
    for (const auto& [phase, seconds] : rank.seconds)
      all += seconds;
  for (std::size_t p = 0; p < table.phases.size(); ++p)
    for (const RankPhases& rank : table.ranks)
      if (const auto found = rank.seconds.find(table.phases[p]); found != rank.seconds.end())
        shares[p] += all > 0.0 ? found->second / all : 0.0;
  return shares;
}

/// A color in the legend of the time line.
struct LegendEntry {
  std::string name;
  std::string css;
  Point at;
};

/// Returns an entry for each phase that occurs and has a separate color, in as many rows as needed.
/// Other phases share the color of the last entry, "other".
std::vector<LegendEntry> legend_of(const PhaseTable& table,
                                   const std::vector<std::string>& classes) {
  std::vector<std::size_t> order;
  std::optional<std::size_t> other;
  for (std::size_t p = 0; p < table.phases.size(); ++p) {
    const bool seen = std::any_of(table.ranks.begin(), table.ranks.end(), [&](const auto& rank) {
      return rank.shares.contains(table.phases[p]);
    });
    if (!seen) continue;
    if (classes[p] == kOther)
      other = p;
    else
      order.push_back(p);
  }
  if (other) order.push_back(*other);
  std::vector<LegendEntry> entries;
  Point next{kLeft, 4};
  for (const std::size_t p : order) {
    const std::string name = classes[p] == kOther ? "other" : table.phases[p];
    const double width = 36.0 + 6.4 * static_cast<double>(width_of(name));
    if (next.x > kLeft && next.x + width > kWidth) next = {kLeft, next.y + kLegendRow};
    entries.push_back({name, classes[p], next});
    next.x += width;
  }
  return entries;
}

/// The layout of a time line. With more ranks, the rows are thinner, but at least 3 pixels high.
struct Layout {
  explicit Layout(const PhaseTable& table)
      : classes(phase_classes(table)),
        legend(legend_of(table, classes)),
        top(26.0 + (legend.empty() ? 0.0 : legend.back().at.y)),
        row(std::clamp(360.0 / static_cast<double>(std::max<std::size_t>(table.ranks.size(), 1)),
                       3.0, 30.0)),
        gap(row >= 10 ? 4.0 : 0.5),
        bottom(top + (row + gap) * static_cast<double>(table.ranks.size())) {}

  double y_of(std::size_t rank) const { return top + (row + gap) * static_cast<double>(rank); }

  std::vector<std::string> classes;  // CSS class of each phase
  std::vector<LegendEntry> legend;
  double top;
  double row;
  double gap;
  double bottom;
};

/// Neighboring bins with almost equal shares, which are drawn as one rectangle per phase.
struct Run {
  std::size_t begin;
  std::size_t end;
};
std::vector<Run> runs_of(const RankPhases& rank, const std::vector<std::string>& phases,
                         std::size_t bins) {
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::all_of(phases.begin(), phases.end(), [&](const std::string& phase) {
      const auto found = rank.shares.find(phase);
      if (found == rank.shares.end()) return true;
      return std::abs(found->second[a] - found->second[b]) < 0.02F;
    });
  };
  std::vector<Run> runs;
  for (std::size_t b = 0; b < bins; ++b) {
    if (!runs.empty() && same(runs.back().begin, b)) {
      runs.back().end = b + 1;
    } else {
      runs.push_back({b, b + 1});
    }
  }
  return runs;
}

void draw_rank(Svg& svg, const PhaseTable& table, std::size_t r, std::size_t bins,
               const Layout& layout) {
  const RankPhases& rank = table.ranks[r];
  const double width = (kWidth - kLeft) / static_cast<double>(bins);
  for (const Run& run : runs_of(rank, table.phases, bins)) {
    double y = layout.y_of(r) + layout.row;
    for (std::size_t p = 0; p < table.phases.size(); ++p) {
      const auto found = rank.shares.find(table.phases[p]);
      if (found == rank.shares.end()) continue;
      const double height = layout.row * std::min(found->second[run.begin], 1.0F);
      if (height < 0.05) continue;
      y -= height;
      svg.rect({kLeft + width * static_cast<double>(run.begin), y},
               {width * static_cast<double>(run.end - run.begin), height}, layout.classes[p]);
    }
  }
  const bool labeled = layout.row >= 10 || r % 8 == 0;
  if (labeled)
    svg.text({kLeft - 8, layout.y_of(r) + layout.row / 2 + 4}, text_of("rank %zu", r), "tick",
             Anchor::end);
}

/// Returns the time between two ticks, as a round number of seconds, minutes or hours.
double time_step(double wall_s) {
  constexpr std::array kSteps = {0.1,   0.2,   0.5,   1.0,    2.0,    5.0,   10.0,
                                 20.0,  30.0,  60.0,  120.,   300.,   600.,  900.,
                                 1800., 3600., 7200., 14400., 21600., 43200.};
  for (const double step : kSteps)
    if (wall_s / step <= 8) return step;
  return 86400.0 * std::ceil(wall_s / 86400.0 / 8.0);
}

}  // namespace

std::vector<std::string> phase_classes(const PhaseTable& table) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 9> kNamed = {
      {{"forward", "ph-forward"},
       {"backward", "ph-backward"},
       {"optimizer", "ph-optimizer"},
       {"evaluation", "ph-evaluation"},
       {"checkpoints", "ph-checkpoints"},
       {"start-up", "ph-start-up"},
       {"histories", "ph-histories"},
       {"waiting for ranks", "ph-wait"},
       {"allreduce, exposed", "ph-exposed"}}};
  const std::vector<double> shares = shares_of(table);
  std::vector<std::string> classes(table.phases.size(), kOther);
  std::vector<std::size_t> unnamed;
  for (std::size_t p = 0; p < table.phases.size(); ++p) {
    const auto named = std::ranges::find(kNamed, std::string_view(table.phases[p]),
                                         &std::pair<std::string_view, const char*>::first);
    if (shares[p] < kVisibleShare || table.phases[p] == "other") continue;
    if (named != kNamed.end())
      classes[p] = named->second;
    else
      unnamed.push_back(p);
  }
  std::ranges::stable_sort(unnamed,
                           [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  for (std::size_t i = 0; i < std::min(unnamed.size(), kFreeColors); ++i)
    classes[unnamed[i]] = "ph-" + std::to_string(i);
  return classes;
}

std::string svg_timeline(const PhaseTable& table) {
  std::size_t bins = 0;
  for (const RankPhases& rank : table.ranks)
    for (const auto& [phase, shares] : rank.shares)
      bins = std::max(bins, shares.size());
  if (bins == 0) return "";
  const Layout layout(table);
  Svg svg(kWidth, layout.bottom + kAxis, "Phases of every rank over time");
  for (const LegendEntry& entry : layout.legend) {
    svg.rect(entry.at, {11, 11}, entry.css, 2);
    svg.text({entry.at.x + 16, entry.at.y + 10}, entry.name, "legend");
  }
  for (std::size_t r = 0; r < table.ranks.size(); ++r) {
    svg.rect({kLeft, layout.y_of(r)}, {kWidth - kLeft, layout.row}, "ph-none", 2);
    draw_rank(svg, table, r, bins, layout);
  }
  const double step = time_step(table.wall_s);
  for (double tick = 0.0; tick <= table.wall_s; tick += step) {
    const double x = kLeft + (kWidth - kLeft) * tick / table.wall_s;
    svg.line({x, layout.bottom}, {x, layout.bottom + 5}, "axis");
    svg.text({std::min(x, kWidth - 22), layout.bottom + 20}, m_ss(tick, step < 1), "tick",
             Anchor::middle);
  }
  return svg.str();
}

std::string svg_memory(const std::vector<RunSummary::GpuMemory>& gpus) {
  if (gpus.empty()) return "";
  constexpr double kRow = 26;
  constexpr double kRight = 285;
  constexpr double kGiB = 1073741824.0;
  const double room = kWidth - kLeft - kRight;
  std::uint64_t largest = 1;
  for (const auto& gpu : gpus)
    largest = std::max(largest, gpu.total);
  Svg svg(kWidth, kRow * static_cast<double>(gpus.size()) + 6, "Memory of each GPU");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto length = [&](std::uint64_t bytes) {
      return room * static_cast<double>(bytes) / static_cast<double>(largest);
    };
    const double y = kRow * static_cast<double>(i) + 3;
    svg.text({kLeft - 8, y + 14}, text_of("GPU %d", gpus[i].rank), "tick", Anchor::end);
    svg.rect({kLeft, y}, {length(gpus[i].total), kRow - 8}, "ph-none", 2);
    svg.rect({kLeft, y}, {length(gpus[i].reserved), kRow - 8}, "mem-reserved", 2);
    svg.rect({kLeft, y}, {length(gpus[i].allocated), kRow - 8}, "mem-allocated", 2);
    const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kGiB; };
    svg.text({kLeft + length(gpus[i].total) + 10, y + 14},
             text_of("%.1f allocated, %.1f reserved of %.1f GiB", gib(gpus[i].allocated),
                     gib(gpus[i].reserved), gib(gpus[i].total)),
             "tick");
  }
  return svg.str();
}

}  // namespace mgpu::report
