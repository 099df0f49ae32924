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

// This header declares the steps of seal(), in the order in which seal() runs them.
namespace mgpu::store {

/// Rows of one column, with their checksum. If the column is contiguous, one rank wrote these rows.
/// If the column is compressed, one rank compressed them, and rank 0 wrote them.
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

/// Runs the failpoint "<SealRequest::what>.<call>", with which a test makes a step fail. `call`
/// names the step, such as "create" or "verify".
/// Errors: Failure E602.
void pass_failpoint(const SealWork& work, const char* call);

/// Creates the file with its groups, attributes, small tables, and the HDF5 data sets of chunked
/// tables. The rows of chunked tables follow in later steps, except the first offset of each list
/// column, which is 0. Only rank 0 calls create_layout().
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
