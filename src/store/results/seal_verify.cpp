#include <algorithm>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>

#include "hdf5.hpp"
#include "seal_parts.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

std::uint32_t crc_in_file(hid_t file, const ColumnPlan& column, const WrittenSlice& slice) {
  const Hid dataset = hdf5::own(H5Dopen2(file, column.dataset.c_str(), H5P_DEFAULT));
  std::vector<std::byte> bytes(slice.bytes);
  const Hid file_space =
      hdf5::select_rows(dataset.get(), slice.first_row, slice.rows, column.spec.width);
  const Hid memory = hdf5::memory_space(slice.rows, column.spec.width);
  const Hid type = hdf5::own(H5Dget_type(dataset.get()));
  hdf5::check(H5Dread(dataset.get(), type.get(), memory.get(), file_space.get(), H5P_DEFAULT,
                      bytes.data()));
  return crc32c(bytes);
}

void verify_slices(const SealWork& work) {
  const Hid access = hdf5::serial_access();
  const Hid file = hdf5::own(H5Fopen(work.temporary.c_str(), H5F_ACC_RDONLY, access.get()));
  for (const WrittenSlice& slice : work.slices) {
    const ColumnPlan& column = work.plan.columns[slice.column];
    if (crc_in_file(file.get(), column, slice) == slice.crc) continue;
    throw Failure({"E606",
                   ExitCode::io,
                   "the " + work.request.what + " read back are not what was written: " +
                       column.dataset + ", rows " + std::to_string(slice.first_row) + " to " +
                       std::to_string(slice.first_row + slice.rows - 1),
                   {"  --> " + work.request.path.string()},
                   "check the disk, then start the same command again: nothing finished is lost"});
  }
}

}  // namespace

void verify(SealWork& work) {
  cluster::run_together(work.group, [&] {
    pass_failpoint(work, "verify");
    writing(work, [&] { verify_slices(work); });
  });
}

}  // namespace mgpu::store
