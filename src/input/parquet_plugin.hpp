#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "row_source.hpp"

namespace mgpu::input {

/// The interface of the library that is built from parquet_plugin.cpp and loaded with the first
/// Parquet file. The library uses only JsonValue of the program, and reports errors as
/// std::runtime_error.
class ParquetPlugin {
public:
  virtual ~ParquetPlugin() = default;

  virtual std::int64_t rows() const = 0;
  virtual std::vector<std::string> columns() const = 0;
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// The type of the function mgpu_open_parquet in the library that is built from parquet_plugin.cpp.
/// The function takes ownership of the descriptor.
using OpenParquet = std::unique_ptr<ParquetPlugin> (*)(int descriptor);

}  // namespace mgpu::input
