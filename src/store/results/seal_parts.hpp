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

// The steps of a seal, in the order in which seal() takes them.
namespace mgpu::store {

/// The rows of one column that this rank wrote, and their checksum.
struct WrittenSlice {
  std::uint64_t column = 0;  // index into SealPlan::columns
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t crc = 0;  // CRC-32C
};

/// The state that the steps share.
struct SealWork {
  const cluster::Group& group;
  const SealRequest& request;
  const SealPlan& plan;
  std::filesystem::path temporary;
  RowReader reader;
  std::vector<WrittenSlice> slices{};  // of this rank
  SealResult report{};
};

/// Runs a step that writes the file. HDF5's errors become Failure E602 with path and space.
void writing(const SealWork& work, const std::function<void()>& step);

/// Runs the failpoint "<what>.<call>", which stands for a call inside HDF5. Errors: Failure E602.
void pass_failpoint(const SealWork& work, const char* call);

/// Writes, on rank 0, groups, attributes, small tables, and every column's data set without its
/// rows (except the first offset of lists, which is 0).
void create_layout(SealWork& work);

/// Writes the rows of contiguous columns on all ranks.
void write_contiguous(SealWork& work);

/// Compresses columns on all ranks; rank 0 appends them and the checksums of all columns.
void write_serial(SealWork& work);

/// Reads back the rows that this rank wrote. Errors: Failure E606 on all ranks.
void verify(SealWork& work);

}  // namespace mgpu::store
