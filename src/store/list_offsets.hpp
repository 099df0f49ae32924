#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <mgpu/store/read_table.hpp>

#include "stored_column.hpp"

namespace mgpu::store {

/// Refuses offsets that are not those of so many values. Errors: Failure E605.
inline void check_offsets(const ReadColumn& offsets, std::int64_t items) {
  if (offsets.spec.type != ColumnType::i64 || offsets.spec.width != 1 || offsets.bytes.empty())
    fail_table("its row_offsets are not a row of i64");
  const std::span<const std::int64_t> at = offsets.values<std::int64_t>();
  if (at.front() != 0 || at.back() != items || !std::is_sorted(at.begin(), at.end()))
    fail_table("its row_offsets do not fit its " + std::to_string(items) + " values");
}

}  // namespace mgpu::store
