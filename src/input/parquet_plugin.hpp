#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_source.hpp"

namespace mgpu::input {

/// The interface of the library that is built from parquet_plugin.cpp, and loaded when the first
/// Parquet file is opened. The library uses only JsonValue, RawRow and a copy of utf8.cpp from the
/// program. It reports errors as std::runtime_error.
class ParquetPlugin {
public:
  virtual ~ParquetPlugin() = default;

  virtual std::int64_t rows() const = 0;
  virtual std::vector<std::string> columns() const = 0;
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// The type of mgpu_open_parquet(), the function that the library exports. The function takes
/// ownership of the descriptor.
using OpenParquet = std::unique_ptr<ParquetPlugin> (*)(int descriptor);

}  // namespace mgpu::input
