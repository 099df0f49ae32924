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

/// Reads the number of rows and the columns.
/// Errors: Failure E532 (not a Parquet file), E535 (not in this build).
ParquetFacts read_parquet_facts(const DataFile& file);

/// Opens the rows of the file. A read decodes from the start of the row group, unless it goes on
/// where the last read ended.
///
/// Memory: `file` must outlive it; 1024 rows, and 1 MiB per column.
/// Errors: those of read_parquet_facts().
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
