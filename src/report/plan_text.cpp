#include <algorithm>
#include <numeric>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

using formats::JsonValue;
using Members = JsonValue::Members;

// If the plan has more shares (Plan::Share) than this, only the first 4 and the last 2 are shown.
constexpr std::size_t kAllShares = 12;
constexpr std::size_t kShownLimits = 3;

std::uint64_t total_bytes(const Plan& plan) {
  return std::accumulate(plan.memory.begin(), plan.memory.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Plan::Memory& m) { return sum + m.bytes; });
}

double total_seconds(const Plan& plan) {
  return std::accumulate(plan.times.begin(), plan.times.end(), 0.0,
                         [](double sum, const Plan::Time& t) { return sum + t.seconds; });
}

std::vector<Plan::Limit> tightest(const Plan& plan, std::size_t count) {
  std::vector<Plan::Limit> limits = plan.limits;
  std::stable_sort(limits.begin(), limits.end(),
                   [](const Plan::Limit& a, const Plan::Limit& b) { return a.used > b.used; });
  limits.resize(std::min(limits.size(), count));
  return limits;
}

/// Returns the width of a column: the width of its widest text, plus 2.
template <class Row>
std::size_t column(const std::vector<Row>& rows, std::string Row::*text) {
  std::size_t width = 0;
  for (const Row& row : rows)
    width = std::max(width, width_of(row.*text));
  return width + 2;
}

std::string ids_of(const Plan::Share& share, const std::string& unit) {
  if (share.count == 0) return "nothing";
  return escape_log(unit) + ' ' + grouped(share.first) + " .. " +
         grouped(share.first + share.count - 1) + "  (" + grouped(share.count) + ')';
}

std::string share_lines(const Plan& plan) {
  if (plan.shares.empty()) return "";
  std::string text = "who does what\n";
  const std::size_t who = column(plan.shares, &Plan::Share::who);
  const std::size_t where = column(plan.shares, &Plan::Share::where);
  const bool folded = plan.shares.size() > kAllShares;
  for (std::size_t i = 0; i < plan.shares.size(); ++i) {
    if (folded && i == 4) text += text_of("  ... %zu more\n", plan.shares.size() - 6);
    if (folded && i >= 4 && i + 2 < plan.shares.size()) continue;
    const Plan::Share& share = plan.shares[i];
    text += "  " + pad_right(escape_log(share.who), who) +
            pad_right(escape_log(share.where), where) + ids_of(share, plan.unit) + '\n';
  }
  return text;
}

std::string bar_of(double share, bool utf8) {
  constexpr int kBar = 30;
  const int full = std::clamp(static_cast<int>(share * kBar + 0.5), share > 0 ? 1 : 0, kBar);
  std::string bar;
  for (int i = 0; i < kBar; ++i) {
    if (utf8) {
      bar += i < full ? "\u2588" : "\u2591";
    } else {
      bar += i < full ? '#' : '-';
    }
  }
  return bar;
}

std::string memory_text(const Plan& plan, bool utf8) {
  if (plan.memory.empty()) return "";
  const std::string noun = plan.device == DeviceKind::cuda ? "GPU" : "rank";
  std::string text = "memory of the fullest " + noun + '\n';
  const std::uint64_t all = total_bytes(plan);
  const double whole = static_cast<double>(plan.card_bytes > 0 ? plan.card_bytes : all);
  const std::size_t what = column(plan.memory, &Plan::Memory::what);
  for (const Plan::Memory& part : plan.memory) {
    const double share = whole > 0 ? static_cast<double>(part.bytes) / whole : 0.0;
    text += "  " + pad_right(escape_log(part.what), what) + pad_left(bytes_text(part.bytes), 10) +
            "  |" + bar_of(share, utf8) + "|\n";
  }
  text += "  " + pad_right("total", what) + pad_left(bytes_text(all), 10);
  if (plan.card_bytes > 0)
    text += " of " + bytes_text(plan.card_bytes) + " (" +
            percent(static_cast<double>(all) / whole) + ')';
  return text + '\n';
}

std::string time_text(const Plan& plan) {
  if (plan.times.empty()) return "";
  std::string text = "expected time\n";
  const std::size_t what = std::max<std::size_t>(column(plan.times, &Plan::Time::what), 7);
  for (const Plan::Time& time : plan.times) {
    text += "  " + pad_right(escape_log(time.what), what) + pad_left(h_mm_ss(time.seconds), 9) +
            "  guess";
    text += time.basis.empty() ? "\n" : ": " + escape_log(time.basis) + '\n';
  }
  return text + "  " + pad_right("total", what) + pad_left(h_mm_ss(total_seconds(plan)), 9) +
         "  guess\n";
}

std::string traffic_text(const Plan& plan) {
  if (plan.traffic.empty()) return "";
  std::string text = "bytes per step\n";
  const std::size_t link = column(plan.traffic, &Plan::Traffic::link);
  for (const Plan::Traffic& traffic : plan.traffic)
    text += "  " + pad_right(escape_log(traffic.link), link) +
            pad_left(bytes_text(traffic.bytes_per_step), 10) + '\n';
  return text;
}

std::string limit_text(const Plan& plan) {
  const std::vector<Plan::Limit> limits = tightest(plan, kShownLimits);
  if (limits.empty()) return "";
  std::string text = "tightest limits\n";
  const std::size_t what = column(limits, &Plan::Limit::what);
  for (const Plan::Limit& limit : limits) {
    text += "  " + pad_left(percent(limit.used), 8) + "  " +
            pad_right(escape_log(limit.what), what) + escape_log(limit.detail);
    if (!limit.key.empty()) text += "  (" + escape_log(limit.key) + ')';
    if (limit.used > 1.0) {
      text += "  DOES NOT FIT";
    } else if (limit.used > limit.allowed) {
      text += "  more than " + percent(limit.allowed);
    }
    text += limit.fits.empty() ? "\n" : "; " + escape_log(limit.fits) + " fits\n";
  }
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan, bool utf8) {
  const char* noun = plan.device == DeviceKind::cuda ? "GPU" : "CPU rank";
  std::string text = "plan for " + escape_log(plan.name) +
                     text_of(" on %d %s%s", plan.ranks, noun, plan.ranks == 1 ? "" : "s");
  if (!plan.machine.empty()) text += " (" + escape_log(plan.machine) + ')';
  text += '\n';
  for (const std::string& note : plan.notes)
    text += "note: " + escape_log(note) + '\n';
  return text + share_lines(plan) + memory_text(plan, utf8) + time_text(plan) + traffic_text(plan) +
         limit_text(plan);
}

std::string plan_json(const Plan& plan) {
  JsonValue::List shares;
  for (const Plan::Share& share : plan.shares)
    shares.push_back(Members{{"who", share.who},
                             {"where", share.where},
                             {"first", share.first},
                             {"count", share.count}});
  JsonValue::List memory;
  for (const Plan::Memory& part : plan.memory)
    memory.push_back(Members{{"what", part.what}, {"bytes", part.bytes}});
  JsonValue::List times;
  for (const Plan::Time& time : plan.times)
    times.push_back(Members{{"what", time.what}, {"seconds", time.seconds}, {"basis", time.basis}});
  JsonValue::List traffic;
  for (const Plan::Traffic& link : plan.traffic)
    traffic.push_back(Members{{"link", link.link}, {"bytes_per_step", link.bytes_per_step}});
  JsonValue::List limits;
  for (const Plan::Limit& limit : tightest(plan, plan.limits.size()))
    limits.push_back(Members{{"what", limit.what},
                             {"used", limit.used},
                             {"allowed", limit.allowed},
                             {"detail", limit.detail},
                             {"key", limit.key},
                             {"fits", limit.fits}});
  return formats::to_json(Members{{"schema", 1},
                                  {"name", plan.name},
                                  {"machine", plan.machine},
                                  {"device", plan.device == DeviceKind::cuda ? "cuda" : "cpu"},
                                  {"ranks", plan.ranks},
                                  {"unit", plan.unit},
                                  {"notes", JsonValue::List(plan.notes.begin(), plan.notes.end())},
                                  {"shares", std::move(shares)},
                                  {"memory", std::move(memory)},
                                  {"memory_total_bytes", total_bytes(plan)},
                                  {"card_bytes", plan.card_bytes},
                                  {"times", std::move(times)},
                                  {"total_seconds", total_seconds(plan)},
                                  {"traffic", std::move(traffic)},
                                  {"limits", std::move(limits)}},
                          formats::BadUtf8::replace);
}

}  // namespace mgpu::report
