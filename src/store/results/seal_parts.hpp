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

/// The failpoint "<what>.<call>" of a call that HDF5 makes. Errors: Failure E602.
void pass_failpoint(const SealWork& work, const char* call);

/// Rank 0 writes groups, attributes, small tables, and every column's data set without its rows
/// (except the zero before the ends of lists).
void create_layout(SealWork& work);

/// All ranks write the rows of contiguous columns.
void write_contiguous(SealWork& work);

/// All ranks compress; rank 0 appends compressed columns and checksums.
void write_serial(SealWork& work);

/// All ranks read back their slices. Errors: Failure E606 on all ranks.
void verify(SealWork& work);

}  // namespace mgpu::store
