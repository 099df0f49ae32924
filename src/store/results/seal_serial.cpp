#include <algorithm>
#include <optional>
#include <utility>

#include <zlib.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/byte_order.hpp>

#include "crc_combine.hpp"
#include "hdf5.hpp"
#include "seal_parts.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr std::int64_t kSerialBytesPerRank = 4 << 20;  // limit of a rank in one gather

/// Returns one HDF5 chunk in the form in which HDF5's deflate filter would store it.
std::vector<std::byte> deflated(std::vector<std::byte> raw, std::size_t chunk_bytes, int level) {
  raw.resize(chunk_bytes);  // pads the last chunk, which reaches beyond the last row
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::vector<std::byte> out(size);
  const int code =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(raw.data()), static_cast<uLong>(raw.size()), level);
  if (code != Z_OK) throw LibraryError("zlib", code, "compress2", Where::here());
  out.resize(size);
  return out;
}

/// Unpacks the HDF5 chunks that compress_range() packed, and writes them to the HDF5 data set.
void store_chunks(hid_t dataset, std::span<const std::byte> packed) {
  while (!packed.empty()) {
    const auto row = formats::take<std::int64_t>(packed);
    const auto bytes = formats::take<std::uint64_t>(packed);
    const hsize_t start[2] = {static_cast<hsize_t>(row), 0};
    hdf5::check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, bytes, packed.data()));
    packed = packed.subspan(bytes);
  }
}

/// The result file after all collective writes. From then on, only rank 0 writes to the file.
class SerialFile {
public:
  explicit SerialFile(SealWork& work) : work_(work) {
    cluster::run_together(work.group, [&] {
      if (work.group.rank() != 0) return;
      writing(work, [&] { file_.emplace(hdf5::SerialWriter::open(work.temporary)); });
    });
  }

  void write_compressed(std::size_t index);
  void write_checksums_and_close();

private:
  Hid dataset(const ColumnPlan& column) const {
    return hdf5::own(H5Dopen2(file_->id(), column.dataset.c_str(), H5P_DEFAULT));
  }
  std::int64_t chunk_rows(const ColumnPlan& column) const {
    const TablePlan& table = work_.plan.table_of(column);
    return std::min(table.rows, column.unit_entries * table.table->chunk_rows);
  }
  std::string compress_range(std::size_t index, EntryRange range);
  void store_checksums(const std::vector<WrittenSlice>& slices);

  SealWork& work_;
  std::optional<hdf5::SerialWriter> file_;  // on rank 0 only
};

/// Compresses the rows of a range, and returns one record for each HDF5 chunk: first row (i64),
/// number of compressed bytes (u64), and these bytes. Adds the rows to SealWork::slices.
std::string SerialFile::compress_range(std::size_t index, EntryRange range) {
  const ColumnPlan& column = work_.plan.columns[index];
  const std::size_t chunk_bytes =
      static_cast<std::size_t>(chunk_rows(column)) * column.spec.row_bytes();
  std::vector<std::byte> packed;
  WrittenSlice slice{index, work_.plan.first_row(column, range.first),
                     work_.plan.rows_in(column, range), 0, 0};
  for (std::size_t at = range.first; at < range.last;) {
    const std::size_t end =
        std::min(range.last, at + static_cast<std::size_t>(column.unit_entries));
    std::vector<std::byte> raw = work_.reader.numbers(column, {at, end});
    slice.bytes += raw.size();
    slice.crc = crc32c(raw, static_cast<std::uint32_t>(slice.crc));
    const std::vector<std::byte> chunk = deflated(std::move(raw), chunk_bytes, work_.request.gzip);
    formats::put(packed, work_.plan.first_row(column, at));
    formats::put(packed, std::uint64_t{chunk.size()});
    packed.insert(packed.end(), chunk.begin(), chunk.end());
    at = end;
  }
  if (slice.rows > 0) work_.slices.push_back(slice);
  return {reinterpret_cast<const char*>(packed.data()), packed.size()};
}

void SerialFile::write_compressed(std::size_t index) {
  const ColumnPlan& column = work_.plan.columns[index];
  const cluster::Group& group = work_.group;
  const Passes passes(work_.plan, column, group.size(), kSerialBytesPerRank);
  for (std::int64_t pass = 0; pass < passes.count(); ++pass) {
    std::string packed;
    cluster::run_together(group, [&] {
      pass_failpoint(work_, "write");
      packed = compress_range(index, passes.range(pass, group.rank()));
    });
    const std::vector<std::string> parts = group.gather(packed, 0);
    cluster::run_together(group, [&] {
      if (group.rank() != 0) return;
      writing(work_, [&] {
        const Hid target = dataset(column);
        for (const std::string& part : parts) {
          file_->reserve(2 * part.size());  // twice the size, to have room for the chunk index
          store_chunks(target.get(), std::as_bytes(std::span(part)));
        }
      });
    });
  }
}

void SerialFile::store_checksums(const std::vector<WrittenSlice>& slices) {
  std::vector<std::uint32_t> sums(work_.plan.columns.size(), 0);
  for (const WrittenSlice& slice : slices) {
    std::uint32_t& sum = sums[slice.column];
    sum = crc32c_combine(sum, static_cast<std::uint32_t>(slice.crc), slice.bytes);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Hid target = dataset(work_.plan.columns[i]);
    hdf5::write_u32_attribute(target.get(), "crc32c", sums[i]);
  }
  pass_failpoint(work_, "close");
  file_->close();
}

void SerialFile::write_checksums_and_close() {
  std::vector<WrittenSlice> all = cluster::all_gather_records(work_.group, work_.slices);
  std::sort(all.begin(), all.end(), [](const WrittenSlice& a, const WrittenSlice& b) {
    return std::pair(a.column, a.first_row) < std::pair(b.column, b.first_row);
  });
  cluster::run_together(work_.group, [&] {
    if (work_.group.rank() == 0) writing(work_, [&] { store_checksums(all); });
  });
}

}  // namespace

void write_serial(SealWork& work) {
  SerialFile file(work);
  for (std::size_t i = 0; i < work.plan.columns.size(); ++i) {
    if (work.plan.columns[i].kind == ColumnKind::compressed) file.write_compressed(i);
  }
  file.write_checksums_and_close();
}

}  // namespace mgpu::store
