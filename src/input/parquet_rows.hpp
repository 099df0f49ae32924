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

/// Errors: Failure E532 (not a Parquet file), E535 (not in this build).
ParquetFacts read_parquet_facts(const DataFile& file);

/// Opens the rows. They are decoded from the start of their row group, unless they follow the last
/// call.
///
/// Memory: `file` must outlive it; 1024 rows, and 1 MiB per column.
/// Errors: as above.
std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file);

}  // namespace mgpu::input
