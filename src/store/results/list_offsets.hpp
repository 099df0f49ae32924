#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <mgpu/store/results/read_table.hpp>

#include "stored_column.hpp"

namespace mgpu::store {

/// Checks the offsets of a list column. They must begin with 0, must not decrease, and must end
/// with the number of items. The caller passes the offsets to add() in one or more pieces, in
/// order.
/// Errors: Failure E605: the constructor throws it if the column is not i64 of width 1 or has no
///         rows, and finish() if the offsets are wrong.
class OffsetsCheck {
public:
  OffsetsCheck(const ColumnSpec& spec, std::int64_t rows) {
    if (spec.type != ColumnType::i64 || spec.width != 1 || rows < 1)
      fail_table("its row_offsets are not a row of i64");
  }

  /// Adds the next offsets, at least one.
  void add(std::span<const std::int64_t> offsets) {
    const bool begins_right = is_first_ ? offsets.front() == 0 : offsets.front() >= last_;
    fits_ = fits_ && begins_right && std::is_sorted(offsets.begin(), offsets.end());
    is_first_ = false;
    last_ = offsets.back();
  }

  /// Throws Failure E605 unless the offsets fit a column of `items` items.
  void finish(std::int64_t items) const {
    if (!fits_ || last_ != items)
      fail_table("its row_offsets do not fit its " + std::to_string(items) + " values");
  }

private:
  bool is_first_ = true;
  bool fits_ = true;
  std::int64_t last_ = 0;
};

}  // namespace mgpu::store
