#include <vector>

#include <mgpu/report/text_format.hpp>
#include <mgpu/run/quarantined_rows.hpp>
#include <mgpu/store/run_dir/repro.hpp>

namespace mgpu::run {
namespace {

constexpr std::size_t kShownRows = 20;

std::vector<const store::QuarantinedRow*> rows_of(const RunContext& run, const ChunkPhase& phase) {
  const std::int64_t first = first_of_part(phase);
  const std::int64_t end = first + samples_of_part(phase);
  std::vector<const store::QuarantinedRow*> rows;
  for (const store::QuarantinedRow& row : run.quarantine.rows())
    if (row.phase == phase.id && row.sample >= first && row.sample < end) rows.push_back(&row);
  return rows;
}

/// Makes the text "1 row killed its rank twice and is left out: row 7: ...".
std::string rows_text(const std::vector<const store::QuarantinedRow*>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  std::string text =
      count == 1 ? "1 row killed its rank twice and is left out: "
                 : report::grouped(count) + " rows killed their rank twice and are left out: ";
  for (std::size_t i = 0; i < rows.size() && i < kShownRows; ++i)
    text += (i == 0 ? "row " : "; row ") + std::to_string(rows[i]->sample) + ": " + rows[i]->reason;
  if (rows.size() > kShownRows)
    text += "; and " + std::to_string(rows.size() - kShownRows) + " more in quarantine.jsonl";
  return text;
}

std::string how_to_retry(const RunContext& run) {
  return "run.retry_quarantined=true with " +
         store::path_argument("--resume", run.directory.path()) + " tries them again";
}

}  // namespace

void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks) {
  store::Quarantine& quarantine = run.quarantine;
  const store::WorkSpan whole{phase.id, chunk.first, chunk.count};
  const std::int64_t step = quarantine.is_suspect(whole) ? 1 : chunk.count;
  for (std::int64_t row = chunk.first; row < chunk.first + chunk.count; row += step) {
    if (const std::string* reason = quarantine.reason(phase.id, row)) {
      hooks.leave_out(row, "quarantined: " + *reason);
      continue;
    }
    quarantine.begin({phase.id, row, step});
    hooks.work(row, step);
  }
  quarantine.end();
}

void log_suspects(const RunContext& run, const ChunkPhase& phase) {
  for (const store::Death& death : run.quarantine.deaths()) {
    if (death.span.phase != phase.id || death.span.count == 1) continue;
    run.log.event({"note",
                   {{"text", "rank " + std::to_string(death.rank) + " died in attempt " +
                                 std::to_string(death.attempt) + " while it worked on rows " +
                                 std::to_string(death.span.first) + "-" +
                                 std::to_string(death.span.first + death.span.count - 1) +
                                 ": they are worked on one by one"}}});
  }
  const auto rows = rows_of(run, phase);
  if (rows.empty()) return;
  run.log.event({"warn", {{"text", rows_text(rows) + "; " + how_to_retry(run)}}});
}

void add_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome) {
  const auto rows = rows_of(run, phase);
  if (rows.empty()) return;
  outcome.results.push_back({"quarantined_rows", "rows that killed their rank twice",
                             static_cast<double>(rows.size()), "", 0});
  outcome.notes.push_back({rows_text(rows), "run.retry_quarantined", how_to_retry(run)});
}

}  // namespace mgpu::run
