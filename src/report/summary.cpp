#include <algorithm>
#include <cmath>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/summary.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

using formats::JsonValue;
using List = JsonValue::List;
using Members = JsonValue::Members;

List phases_json(const RunSummary& summary) {
  List rows;
  for (const PhaseRow& row : summary.phases) {
    rows.push_back(Members{{"phase", row.phase},
                           {"seconds", row.mean_s},
                           {"share", row.share},
                           {"min_seconds", row.min_s},
                           {"max_seconds", row.max_s},
                           {"max_rank", row.max_rank}});
  }
  return rows;
}

List gpus_json(const RunSummary& summary) {
  List rows;
  for (const RunSummary::GpuMemory& gpu : summary.gpus) {
    rows.push_back(Members{{"rank", gpu.rank},
                           {"host", gpu.host},
                           {"allocated_bytes", gpu.allocated},
                           {"reserved_bytes", gpu.reserved},
                           {"total_bytes", gpu.total}});
  }
  return rows;
}

Members results_json(const RunSummary& summary) {
  Members results;
  for (const Result& result : summary.results) {
    Members members{{"value", result.value}, {"unit", result.unit}, {"label", result.label}};
    if (result.estimate) {
      members.emplace_back("standard_error", result.estimate->standard_error);
      members.emplace_back("low", result.estimate->low);
      members.emplace_back("high", result.estimate->high);
      members.emplace_back("count", result.estimate->count);
    }
    results.emplace_back(result.key, std::move(members));
  }
  return results;
}

Members series_json(const RunSummary& summary) {
  Members series;
  for (const auto& [name, values] : summary.series)
    series.emplace_back(name, List(values.begin(), values.end()));
  return series;
}

List notes_json(const RunSummary& summary) {
  List notes;
  for (const Note& note : summary.notes)
    notes.push_back(Members{{"text", note.text}, {"key", note.key}, {"effect", note.effect}});
  return notes;
}

}  // namespace

std::string Result::number() const {
  const double size = std::fabs(value);
  const int shown = size >= 999.95 ? 0 : std::min(decimals, size >= 99.95 ? 1 : decimals);
  if (shown > 0 || !(size < 1e15)) return text_of("%.*f", shown, value);
  return grouped(std::llround(value));
}

std::string Result::text() const {
  return number() + (unit.empty() ? "" : ' ' + unit);
}

std::string Result::interval() const {
  if (!estimate || !estimate->has_interval()) return "";
  const auto end = [this](double at) { return Result{key, label, at, "", decimals}.number(); };
  return "[" + end(estimate->low) + ", " + end(estimate->high) + "]";
}

std::string plain_headline(const RunSummary& summary) {
  return text_of("%s %s after %lld of %lld %s.", summary.name.c_str(), word_of(summary.outcome),
                 static_cast<long long>(summary.done), static_cast<long long>(summary.total),
                 summary.unit.c_str());
}

const char* word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done:
      return "done";
    case Outcome::incomplete:
      return "incomplete";
    case Outcome::stopped:
      return "stopped";
  }
  throw Error("no word for an outcome");
}

Outcome outcome_of(ExitCode exit) {
  if (exit == ExitCode::done) return Outcome::done;
  if (exit == ExitCode::incomplete) return Outcome::incomplete;
  if (exit == ExitCode::stopped) return Outcome::stopped;
  throw Error("a run with a result cannot exit with " + std::to_string(static_cast<int>(exit)));
}

std::string summary_json(const RunSummary& summary) {
  const List host_peaks(summary.host_peak_bytes.begin(), summary.host_peak_bytes.end());
  return formats::to_json(Members{{"schema", RunSummary::kSchema},
                                  {"name", summary.name},
                                  {"job", summary.job},
                                  {"version", summary.version},
                                  {"status", word_of(summary.outcome)},
                                  {"exit_code", static_cast<int>(summary.exit)},
                                  {"resume_command", summary.resume_command},
                                  {"started", summary.started},
                                  {"ended", summary.ended},
                                  {"host", summary.host},
                                  {"device", summary.device == DeviceKind::cuda ? "cuda" : "cpu"},
                                  {"ranks", summary.ranks},
                                  {"nodes", summary.nodes},
                                  {"unit", summary.unit},
                                  {"done", summary.done},
                                  {"total", summary.total},
                                  {"skipped", summary.skipped},
                                  {"wall_seconds", summary.wall_s},
                                  {"steps_per_second", summary.steps_per_second},
                                  {"samples_per_second", summary.samples_per_second},
                                  {"result", summary.result},
                                  {"results", results_json(summary)},
                                  {"series", series_json(summary)},
                                  {"phases", phases_json(summary)},
                                  {"gpus", gpus_json(summary)},
                                  {"host_peak_bytes", host_peaks},
                                  {"notes", notes_json(summary)}},
                          formats::BadUtf8::replace);
}

void write_summary(const fs::path& path, const RunSummary& summary) {
  write_file_durably(path, summary_json(summary), "summary");
}

}  // namespace mgpu::report
