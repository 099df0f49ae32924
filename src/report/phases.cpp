#include <algorithm>
#include <span>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/phases.hpp>

namespace mgpu::report {
namespace {

using formats::JsonValue;

/// Returns how many bins the time line of a rank has, from 60 to 240. With more ranks, each rank
/// has fewer bins, so that the bins of up to 80 ranks take only a few hundred KiB of text.
std::size_t bins_for(int ranks) {
  return static_cast<std::size_t>(std::clamp(4800 / ranks, 60, 240));
}

/// Divides the run into `bins` bins of equal duration, and returns the share of each phase in each
/// bin. A time slice of the clock that overlaps two bins is split between them.
std::map<std::string, std::vector<float>> binned(const PhaseClock& clock, std::size_t bins,
                                                 double wall_s) {
  std::map<std::string, std::vector<float>> shares;
  if (!(wall_s > 0)) return shares;
  const std::vector<PhaseClock::Total> totals = clock.totals();
  const double width_s = wall_s / static_cast<double>(bins);
  for (std::size_t i = 0; i < clock.num_slices(); ++i) {
    const double begin_s = clock.slice_s() * static_cast<double>(i);
    const double end_s = begin_s + clock.slice_s();
    for (auto b = static_cast<std::size_t>(begin_s / width_s); b < bins; ++b) {
      const double bin_s = width_s * static_cast<double>(b);
      const double inside_s = std::min(end_s, bin_s + width_s) - std::max(begin_s, bin_s);
      if (bin_s >= end_s) break;
      if (inside_s <= 0) continue;  // begin_s / width_s was rounded down
      for (std::size_t phase = 0; phase < totals.size(); ++phase) {
        const double seconds = clock.slices(phase)[i];
        if (seconds <= 0) continue;
        std::vector<float>& row = shares[totals[phase].phase];
        row.resize(bins);
        row[b] += static_cast<float>(seconds * inside_s / (clock.slice_s() * width_s));
      }
    }
  }
  return shares;
}

/// Formats the times of this rank as JSON. Shares are rounded to thousandths, to make the text
/// shorter.
std::string packed(const PhaseClock& clock, std::size_t bins, double wall_s) {
  JsonValue::List names;
  JsonValue::List seconds;
  JsonValue::List calls;
  for (const PhaseClock::Total& total : clock.totals()) {
    names.push_back(total.phase);
    seconds.push_back(total.seconds);
    calls.push_back(total.calls);
  }
  JsonValue::Members shares;
  for (const auto& [phase, row] : binned(clock, bins, wall_s)) {
    JsonValue::List parts;
    for (const float share : row)
      parts.push_back(static_cast<int>(share * 1000.0F + 0.5F));
    shares.emplace_back(phase, std::move(parts));
  }
  return formats::to_json_line(JsonValue::Members{{"phases", std::move(names)},
                                                  {"seconds", std::move(seconds)},
                                                  {"calls", std::move(calls)},
                                                  {"shares", std::move(shares)}});
}

RankPhases unpacked(const JsonValue& json, std::vector<std::string>& order) {
  RankPhases rank;
  const auto names = json.get<std::vector<std::string>>("phases");
  const auto seconds = json.get<std::vector<double>>("seconds");
  const auto calls = json.get<std::vector<std::int64_t>>("calls");
  for (std::size_t i = 0; i < names.size(); ++i) {
    rank.seconds[names[i]] += seconds.at(i);
    rank.calls[names[i]] += calls.at(i);
    rank.wall_s += seconds[i];
    if (std::find(order.begin(), order.end(), names[i]) == order.end()) order.push_back(names[i]);
  }
  for (const auto& [phase, row] : json.get<std::map<std::string, std::vector<int>>>("shares"))
    for (const int share : row)
      rank.shares[phase].push_back(static_cast<float>(share) / 1000.0F);
  return rank;
}

}  // namespace

PhaseTable gather_phases(const cluster::Group& group, const PhaseClock& clock) {
  double wall_s = clock.elapsed_s();
  group.all_reduce(std::span(&wall_s, 1), cluster::ReduceOp::max);
  const std::string mine = packed(clock, bins_for(group.size()), wall_s);
  PhaseTable table;
  for (const std::string& text : group.gather(mine, 0))
    table.ranks.push_back(unpacked(formats::parse_json_object(text), table.phases));
  for (const RankPhases& rank : table.ranks)
    table.wall_s = std::max(table.wall_s, rank.wall_s);
  return table;
}

std::vector<PhaseRow> phase_rows(const PhaseTable& table) {
  double total_s = 0.0;
  for (const RankPhases& rank : table.ranks)
    total_s += rank.wall_s;
  std::vector<PhaseRow> rows;
  for (const std::string& phase : table.phases) {
    PhaseRow row;
    row.phase = phase;
    double sum_s = 0.0;
    for (std::size_t r = 0; r < table.ranks.size(); ++r) {
      const auto found = table.ranks[r].seconds.find(phase);
      const double seconds = found == table.ranks[r].seconds.end() ? 0.0 : found->second;
      sum_s += seconds;
      row.min_s = r == 0 ? seconds : std::min(row.min_s, seconds);
      if (seconds > 0) ++row.ranks_in_it;
      if (r > 0 && seconds <= row.max_s) continue;
      row.max_s = seconds;
      row.max_rank = static_cast<int>(r);
    }
    row.mean_s = sum_s / static_cast<double>(table.ranks.size());
    row.share = total_s > 0 ? sum_s / total_s : 0.0;
    rows.push_back(row);
  }
  std::stable_partition(rows.begin(), rows.end(),
                        [](const PhaseRow& row) { return row.phase != "other"; });
  return rows;
}

}  // namespace mgpu::report
