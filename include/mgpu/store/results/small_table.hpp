#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <mgpu/store/results/seal.hpp>

namespace mgpu::store {

/// A column of a table that fits into memory.
struct SmallColumn {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>> values;
  std::string description;
  std::string units{};  // "nats", "steps"; "" for none
};

/// The columns of the plot that viewers of NeXus files show by default: `signal` is the y axis, and
/// `axis` the x axis.
struct SmallPlot {
  std::string signal;
  std::string axis;
};

/// Returns the columns as a table for SealRequest::small_tables.
///
/// Errors: ShapeError when the columns have different lengths; Error when two columns have the same
///         name. seal() calls TableSpec::validate() later.
SmallTable make_small_table(const std::string& path, const std::vector<SmallColumn>& columns,
                            const SmallPlot& plot = {});

}  // namespace mgpu::store
