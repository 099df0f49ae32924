#include <algorithm>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/death_note.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/journal/quarantine.hpp>

#include "deaths.hpp"
#include "work_mark.hpp"

namespace mgpu::store {
namespace {

std::string shown(const std::string& cause) {
  if (cause == "unknown") return "died without a word";
  return cause == "hang" ? "hung" : "was killed by " + cause;
}

std::string reason_of(const Death& earlier, const Death& later) {
  const std::string begin = "its rank " + shown(earlier.cause) + " in attempt ";
  if (earlier.cause == later.cause) {
    return "its rank " + shown(earlier.cause) + " in attempts " + std::to_string(earlier.attempt) +
           " and " + std::to_string(later.attempt);
  }
  return begin + std::to_string(earlier.attempt) + " and " + shown(later.cause) + " in attempt " +
         std::to_string(later.attempt);
}

}  // namespace

class Quarantine::Mark : public WorkMark {
public:
  using WorkMark::WorkMark;
};

std::vector<QuarantinedRow> rows_to_quarantine(std::span<const Death> deaths) {
  std::vector<QuarantinedRow> rows;
  std::vector<const Death*> open;  // deaths not yet attributed to a sample
  for (const Death& death : deaths) {
    const WorkSpan& span = death.span;
    const bool is_known = std::ranges::any_of(rows, [&](const QuarantinedRow& row) {
      return span.count == 1 && span.contains(row.phase, row.sample);
    });
    if (is_known) continue;
    const auto earlier = std::ranges::find_if(
        open, [&](const Death* one) { return one->span.contains(span.phase, span.first); });
    if (span.count > 1 || earlier == open.end()) {
      open.push_back(&death);
      continue;
    }
    rows.push_back({span.phase, span.first, reason_of(**earlier, death)});
    open.erase(earlier);
  }
  return rows;
}

Quarantine::Quarantine(std::filesystem::path run_directory, const cluster::Group& group,
                       std::uint32_t attempt)
    : directory_(std::move(run_directory)),
      attempt_(attempt),
      world_rank_(group.world_rank(group.rank())),
      note_before_(activity().death_note.get()) {
  const std::string text = cluster::on_rank_0(
      group, [&] { return text_of(collect_deaths(directory_, file(), attempt_)); });
  deaths_ = deaths_in(text, file());
  rows_ = rows_to_quarantine(deaths_);
  cluster::run_together(group,
                        [&] { mark_ = std::make_unique<Mark>(directory_, attempt_, world_rank_); });
  prepare_death_note(note_path(directory_, attempt_), world_rank_);
}

Quarantine::~Quarantine() {
  prepare_death_note(note_before_, world_rank_);
}

void Quarantine::begin(const WorkSpan& span) {
  mark_->begin(span);
  if (!has_failpoints()) return;
  for (std::int64_t sample = span.first; sample < span.first + span.count; ++sample)
    failpoint("sample." + std::to_string(sample));
}

void Quarantine::end() {
  mark_->end();
}

bool Quarantine::is_suspect(const WorkSpan& span) const {
  return std::ranges::any_of(deaths_, [&](const Death& death) {
    return death.span.phase == span.phase && death.span.first < span.first + span.count &&
           span.first < death.span.first + death.span.count;
  });
}

const std::string* Quarantine::reason(std::uint32_t phase, std::int64_t sample) const {
  const auto found = std::ranges::find_if(
      rows_, [&](const QuarantinedRow& row) { return row.phase == phase && row.sample == sample; });
  return found == rows_.end() ? nullptr : &found->reason;
}

void Quarantine::forget(const cluster::Group& group, ChunkJournal& journal,
                        std::int64_t chunk_rows) {
  cluster::run_together(group, [&] {
    if (group.rank() != 0) return;
    for (const QuarantinedRow& row : rows_)
      journal.append(row.phase, static_cast<std::uint64_t>(row.sample / chunk_rows), {});
  });
  journal.commit();
  cluster::run_together(group, [&] {
    if (group.rank() != 0 || deaths_.empty()) return;
    fs::path old = file();
    old.replace_filename("quarantine.before_" + std::to_string(attempt_) + ".jsonl");
    rename_durably(file(), old, "quarantine");
  });
  deaths_.clear();
  rows_.clear();
}

void Quarantine::clear_marks() const {
  remove_marks(directory_, attempt_);
}

}  // namespace mgpu::store
