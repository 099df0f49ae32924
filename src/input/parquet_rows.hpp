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

/// Opens the rows of a Parquet file. Each read decodes from the start of a row group, unless it
/// begins where the previous read ended.
///
/// Memory: 1024 rows, and 1 MiB per column. `file` must outlive the result.
/// Errors: Failure E532 (not a Parquet file), E535 (Parquet is not in this build).
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
