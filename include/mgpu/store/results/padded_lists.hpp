#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

/// Writes lists of different lengths as rectangular HDF5 data sets, row by row, with gzip level 4.
/// Rows with fewer items than the longest row are filled with 0.
///
/// Shapes: each data set [rows, longest, width], see Shape.
/// Ranks:  local; one process writes.
/// Memory: one row.
class PaddedLists {
public:
  struct Dataset {
    std::string name;
    ColumnType type = ColumnType::f32;
  };
  struct Shape {
    std::int64_t rows = 0;
    std::int64_t longest = 1;  // items of the longest row; at least 1: HDF5 chunks are not empty
    std::int64_t width = 1;    // numbers per item
  };

  /// Creates the file.
  /// Errors: Failure E602 (exit 74) when the file cannot be written. write() and finish() throw the
  ///         same.
  PaddedLists(std::filesystem::path path, const Shape& shape, const std::vector<Dataset>& datasets);
  ~PaddedLists();
  PaddedLists(const PaddedLists&) = delete;
  PaddedLists& operator=(const PaddedLists&) = delete;

  /// Writes one row of every data set. `values[i]` points to the numbers for data set i of the
  /// constructor, [items, width], in the type of that data set.
  void write(std::int64_t row, std::int64_t items, const std::vector<const void*>& values);

  /// Adds data set `lengths_name` [rows] int32, which has the number of items of each row, and
  /// closes the file.
  void finish(const std::string& lengths_name, std::span<const std::int32_t> lengths);

private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace mgpu::store
