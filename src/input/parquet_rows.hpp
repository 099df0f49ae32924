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
/// Errors: Failure E532 (not a Parquet file), E535 (Parquet is not in this build, or its library
///         cannot be loaded).
ParquetFacts read_parquet_facts(const DataFile& file);

/// Opens the rows of a Parquet file. Rows are decoded in batches of at most 1024. A read continues
/// from the last decoded batch if the first requested row is in the row group of that batch, and
/// not before the batch. Any other read decodes from the start of a row group.
///
/// Memory: 1024 rows, and 1 MiB per column. `file` must outlive the result.
/// Errors: Failure E532 (not a Parquet file), E535 (Parquet is not in this build, or its library
///         cannot be loaded).
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
