#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_source.hpp"

namespace mgpu::input {

struct ParquetFacts {
  std::int64_t rows = 0;
  std::vector<std::string> columns;
};

/// Reads the number of rows and the names of the columns of a Parquet file.
/// Errors: Failure E532 (not a Parquet file), E535 (Parquet is not in this build).
ParquetFacts read_parquet_facts(const DataFile& file);

/// Opens the rows of a Parquet file. A read continues where the previous read stopped if it begins
/// in the same row group, and not before the previous batch (1024 rows). Any other read decodes
/// from the start of a row group.
///
/// Memory: 1024 rows, and 1 MiB per column. `file` must outlive the result.
/// Errors: Failure E532 (not a Parquet file), E535 (Parquet is not in this build).
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
