#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_source.hpp"

namespace mgpu::input {

/// The interface of a library that is loaded with the first Parquet file (parquet_plugin.cpp). The
/// library uses only JsonValue of the program, and reports errors as std::runtime_error.
class ParquetPlugin {
public:
  virtual ~ParquetPlugin() = default;

  virtual std::int64_t rows() const = 0;
  virtual std::vector<std::string> columns() const = 0;
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// The function mgpu_open_parquet of the library parquet_plugin.cpp. It takes ownership of the
/// descriptor.
using OpenParquet = std::unique_ptr<ParquetPlugin> (*)(int descriptor);

}  // namespace mgpu::input
