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

/// Errors: Failure E532 (no Parquet file), E535 (not in this build).
ParquetFacts read_parquet_facts(const DataFile& file);

/// Rows are decoded from the begin of their row group, unless they follow those of the last call.
///
/// Memory: `file` has to outlive it; 1024 rows, and a MiB for each column.
/// Errors: as above.
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
