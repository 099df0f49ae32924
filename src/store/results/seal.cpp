#include <cstdio>
#include <string>
#include <system_error>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/seal.hpp>

#include "hdf5.hpp"
#include "seal_parts.hpp"

namespace mgpu::store {
namespace {

fs::path temporary_path(const SealRequest& request) {
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".tmp.a%04u", request.attempt);
  return request.path.string() + suffix;
}

/// Removes the temporary files that an earlier, killed seal() left.
void remove_leftovers(const fs::path& path) {
  const std::string prefix = path.filename().string() + ".tmp.";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) fs::remove(entry.path());
  }
}

/// Syncs the file on every rank, because each node may have cached data that its ranks wrote.
void sync_everywhere(const SealWork& work) {
  cluster::run_together(work.group, [&] {
    DurableFile file(work.temporary, work.request.what, DurableFile::Mode::append);
    file.sync();
  });
}

void publish(const SealWork& work) {
  cluster::run_together(work.group, [&] {
    if (work.group.rank() != 0) return;
    if (work.request.check_current) work.request.check_current();
    rename_durably(work.temporary, work.request.path, work.request.what);
    note_own_file(work.request.path);
  });
}

SealResult run(SealWork& work) {
  for (const TablePlan& table : work.plan.tables) {
    work.report.rows += table.rows;
    work.report.missing_rows += table.table->spec.rows - table.rows;
  }
  cluster::run_together(work.group, [&] {
    if (work.group.rank() != 0) return;
    remove_leftovers(work.request.path);
    writing(work, [&] { create_layout(work); });
  });
  write_contiguous(work);
  write_serial(work);
  sync_everywhere(work);
  verify(work);
  publish(work);
  work.report.file_bytes =
      cluster::on_rank_0(work.group, [&] { return fs::file_size(work.request.path); });
  return work.report;
}

SealResult seal_with(const cluster::Group& group, const ChunkJournal* journal,
                     const SealRequest& request) {
  const hdf5::Quiet quiet;
  SealPlan plan = make_plan(journal, request);
  measure_lists(group, journal, plan);
  SealWork work{group, request, plan, temporary_path(request), RowReader(journal, plan)};
  try {
    return run(work);
  } catch (...) {
    std::error_code ignored;  // the first error is the one to report
    if (group.rank() == 0) fs::remove(work.temporary, ignored);
    throw;
  }
}

}  // namespace

SealResult seal(const cluster::Group& group, const ChunkJournal& journal,
                const SealRequest& request) {
  return seal_with(group, &journal, request);
}

SealResult seal(const cluster::Group& group, const SealRequest& request) {
  return seal_with(group, nullptr, request);
}

}  // namespace mgpu::store
