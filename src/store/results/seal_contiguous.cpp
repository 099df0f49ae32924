#include <optional>
#include <string>

#include <fcntl.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>

#include "hdf5.hpp"
#include "seal_parts.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr std::int64_t kBytesPerRank = 16 << 20;  // limit of a rank in one collective write

/// Writes the rows of this rank in one collective write of all ranks. A failure is thrown on this
/// rank only.
void write_slice(SealWork& work, hid_t dataset, const ColumnPlan& column, EntryRange range,
                 const std::vector<std::byte>& bytes) {
  const std::int64_t first = work.plan.first_row(column, range.first);
  const std::int64_t rows = work.plan.rows_in(column, range);
  const Hid file_space = hdf5::select_rows(dataset, first, rows, column.spec.width);
  const Hid memory = hdf5::memory_space(rows, column.spec.width);
  const Hid transfer = hdf5::own(H5Pcreate(H5P_DATASET_XFER));
  hdf5::check(H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE));
  const Hid type = hdf5::own(H5Dget_type(dataset));
  hdf5::check(
      H5Dwrite(dataset, type.get(), memory.get(), file_space.get(), transfer.get(), bytes.data()));
  H5D_mpio_actual_io_mode_t mode{};
  hdf5::check(H5Pget_mpio_actual_io_mode(transfer.get(), &mode));
  const bool collective = mode == H5D_MPIO_CONTIGUOUS_COLLECTIVE;
  (collective ? work.report.collective_writes : work.report.other_writes) += 1;
}

std::optional<ErrorReport> write_column(SealWork& work, hid_t file, std::size_t index) {
  const ColumnPlan& column = work.plan.columns[index];
  const Passes passes(work.plan, column, work.group.size(), kBytesPerRank);
  if (passes.count() == 0) return std::nullopt;
  const Hid dataset(H5Dopen2(file, column.dataset.c_str(), H5P_DEFAULT));
  std::optional<ErrorReport> problem = cluster::try_together(
      work.group, [&] { writing(work, [&] { hdf5::check_id(dataset.get()); }); });
  for (std::int64_t pass = 0; pass < passes.count() && !problem; ++pass) {
    const EntryRange all = {passes.range(pass, 0).first,
                            passes.range(pass, work.group.size() - 1).last};
    if (work.plan.rows_in(column, all) == 0) continue;  // all lists of this pass are empty
    const EntryRange range = passes.range(pass, work.group.rank());
    std::vector<std::byte> bytes;
    problem = cluster::try_together(work.group, [&] {
      pass_failpoint(work, "write");
      bytes = work.reader.numbers(column, range);
    });
    if (problem) break;
    problem = cluster::try_together(work.group, [&] {
      writing(work, [&] { write_slice(work, dataset.get(), column, range, bytes); });
    });
    if (bytes.empty()) continue;
    work.slices.push_back({index, work.plan.first_row(column, range.first),
                           work.plan.rows_in(column, range), bytes.size(), crc32c(bytes)});
  }
  return problem;
}

/// The path of a file, without colons in its folder. ROMIO, which opens the file, takes the text
/// before a colon for a type of file system. So if the path has a colon, its folder is replaced by
/// a link in /proc/self/fd.
class PlainName {
public:
  explicit PlainName(const fs::path& path) : name_(path) {
    if (name_.native().find(':') == std::string::npos) return;
    folder_.reset(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) return;  // H5Fopen() will fail too, with the path in its error
    name_ = fs::path("/proc/self/fd") / std::to_string(folder_.get()) / path.filename();
  }
  const char* c_str() const { return name_.c_str(); }

private:
  fs::path name_;
  FdHandle folder_;
};

bool any_contiguous_rows(const SealPlan& plan) {
  for (const ColumnPlan& column : plan.columns)
    if (column.kind == ColumnKind::contiguous && plan.table_of(column).rows > 0) return true;
  return false;
}

}  // namespace

void write_contiguous(SealWork& work) {
  if (!any_contiguous_rows(work.plan)) return;
  cluster::run_together(work.group, [&] { pass_failpoint(work, "open"); });
  const Hid access = hdf5::parallel_access(work.group.raw());
  const PlainName name(work.temporary);
  const hid_t file = H5Fopen(name.c_str(), H5F_ACC_RDWR, access.get());
  cluster::run_together(work.group, [&] { writing(work, [&] { hdf5::check_id(file); }); });
  std::optional<ErrorReport> problem;
  for (std::size_t i = 0; i < work.plan.columns.size() && !problem; ++i) {
    if (work.plan.columns[i].kind == ColumnKind::contiguous) problem = write_column(work, file, i);
  }
  // All ranks close the file before any rank throws, because closing is collective.
  const herr_t closed = H5Fclose(file);
  cluster::run_together(work.group, [&] {
    if (problem) throw Failure(*problem);
    writing(work, [&] { hdf5::check(closed); });
  });
}

}  // namespace mgpu::store
