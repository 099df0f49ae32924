#include <algorithm>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/rank_log.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {

using formats::JsonValue;

RankLog::RankLog(const fs::path& folder, const RankIdentity& who, Verbosity verbosity,
                 ReportClock clock)
    : file_(folder / rank_log_name(who.rank, who.ranks), "rank log"),
      verbosity_(verbosity),
      clock_(std::move(clock)) {
  const std::string devices = who.visible_devices.empty() ? "(not set)" : who.visible_devices;
  file_.line(text_of("Worker %d/%d", who.worker, who.workers));
  file_.line("CUDA_VISIBLE_DEVICES: " + escape_log(devices));
  file_.line(text_of("rank %d of %d on %s, device %s, since ", who.rank, who.ranks,
                     escape_log(who.host).c_str(), escape_log(who.device).c_str()) +
             utc_seconds(clock_.utc()));
}

void RankLog::event(const Event& event) {
  if (event.word == "debug" && verbosity_ != Verbosity::verbose) return;
  file_.line(event_line(event, clock_.utc()));
}

std::string rank_log_name(int rank, int ranks) {
  const auto digits = static_cast<int>(std::to_string(std::max(ranks - 1, 0)).size());
  return text_of("rank_%0*d.log", std::max(digits, 2), rank);
}

Event SharedWarning::as_event() const {
  const char* noun = ranks.size() == 1 ? "rank " : "ranks ";
  return {"warn", {{"text", noun + rank_list(ranks) + ": " + text}}};
}

std::vector<SharedWarning> gather_warnings(const cluster::Group& group,
                                           const std::vector<std::string>& mine) {
  const std::string packed = formats::to_json_line(
      JsonValue::Members{{"warnings", JsonValue::List(mine.begin(), mine.end())}},
      formats::BadUtf8::replace);
  const std::vector<std::string> all = group.gather(packed, 0);
  std::vector<SharedWarning> shared;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const JsonValue json = formats::parse_json_object(all[rank]);
    for (const std::string& text : json.get<std::vector<std::string>>("warnings")) {
      auto same = std::find_if(shared.begin(), shared.end(),
                               [&](const SharedWarning& w) { return w.text == text; });
      if (same == shared.end()) same = shared.insert(shared.end(), {text, {}});
      const auto number = static_cast<int>(rank);
      if (same->ranks.empty() || same->ranks.back() != number) same->ranks.push_back(number);
    }
  }
  return shared;
}

}  // namespace mgpu::report
