#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/results/seal.hpp>

#include "seal_plan.hpp"

// The steps by which seal() writes a result file, in order.
namespace mgpu::store {

/// Rows of one column, and their checksum. This rank wrote them, or compressed them for rank 0 to
/// write.
struct WrittenSlice {
  std::uint64_t column = 0;  // index into SealPlan::columns
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;  // size of these rows before compression
  std::uint64_t crc = 0;    // CRC-32C of these bytes
};

/// The state that all steps of one call of seal() share.
struct SealWork {
  const cluster::Group& group;
  const SealRequest& request;
  const SealPlan& plan;
  std::filesystem::path temporary;
  RowReader reader;
  std::vector<WrittenSlice> slices{};  // rows that this rank has written or compressed
  SealResult report{};
};

/// Runs a step that writes the file. An HDF5 error becomes Failure E602 with the path, and with the
/// free space if the disk is full.
void writing(const SealWork& work, const std::function<void()>& step);

/// Lets a test make the step named `call` fail, such as "create" or "verify". Runs the failpoint
/// "<SealRequest::what>.<call>".
/// Errors: Failure E602.
void pass_failpoint(const SealWork& work, const char* call);

/// Writes groups, attributes and small tables, and creates the data sets of chunked tables. Of
/// their rows, only the first offset of each list column is written, which is 0. Only rank 0 calls
/// it.
void create_layout(SealWork& work);

/// Writes the rows of all uncompressed (contiguous) columns.
/// Ranks:  collective.
void write_contiguous(SealWork& work);

/// Compresses the rows of the columns of kind ColumnKind::compressed, on all ranks. Rank 0 writes
/// the compressed rows to the file, and then the checksums of all columns of chunked tables.
/// Ranks:  collective.
void write_serial(SealWork& work);

/// Reads back the rows that this rank wrote or compressed, and compares their checksums.
/// Ranks:  collective.
/// Errors: on all ranks: Failure E606 if a checksum differs; E602 if the file cannot be read.
void verify(SealWork& work);

}  // namespace mgpu::store
