#include <nlohmann/json.hpp>

#include <mgpu/report/summary.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

using Json = nlohmann::ordered_json;

Json phases_json(const RunSummary& summary) {
  Json rows = Json::array();
  for (const PhaseRow& row : summary.phases) {
    rows.push_back({{"phase", row.phase},
                    {"seconds", row.mean_s},
                    {"share", row.share},
                    {"min_seconds", row.min_s},
                    {"max_seconds", row.max_s},
                    {"max_rank", row.max_rank}});
  }
  return rows;
}

Json gpus_json(const RunSummary& summary) {
  Json rows = Json::array();
  for (const RunSummary::GpuMemory& gpu : summary.gpus) {
    rows.push_back({{"rank", gpu.rank},
                    {"host", gpu.host},
                    {"allocated_bytes", gpu.allocated},
                    {"reserved_bytes", gpu.reserved},
                    {"total_bytes", gpu.total}});
  }
  return rows;
}

Json results_json(const RunSummary& summary) {
  Json results = Json::object();
  for (const Result& result : summary.results)
    results[result.key] = {{"value", result.value}, {"unit", result.unit}, {"label", result.label}};
  return results;
}

Json notes_json(const RunSummary& summary) {
  Json notes = Json::array();
  for (const Note& note : summary.notes)
    notes.push_back({{"text", note.text}, {"key", note.key}, {"effect", note.effect}});
  return notes;
}

}  // namespace

std::string Result::text() const {
  return text_of("%.*f", decimals, value) + (unit.empty() ? "" : ' ' + unit);
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
  Json json = {{"schema", RunSummary::kSchema},
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
               {"samples_per_second", summary.samples_per_second}};
  json["result"] = summary.result;
  json["results"] = results_json(summary);
  json["series"] = summary.series;
  json["phases"] = phases_json(summary);
  json["gpus"] = gpus_json(summary);
  json["host_peak_bytes"] = summary.host_peak_bytes;
  json["notes"] = notes_json(summary);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_summary(const fs::path& path, const RunSummary& summary) {
  write_file_durably(path, summary_json(summary), "summary");
}

}  // namespace mgpu::report
