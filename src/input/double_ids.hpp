#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers.hpp"

namespace mgpu::input {

/// Identifies an id by 128 bits of its SHA-256.
struct IdDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::int64_t row = 0;
  std::int64_t line = 0;
};

IdDigest digest_id(std::string_view id, std::int64_t row, std::int64_t line);

/// A row whose id occurs in an earlier row.
struct DoubleId {
  std::int64_t row = 0;
  std::int64_t line = 0;
  std::int64_t first_line = 0;  // line of the first row with this id
};

/// Finds the rows that repeat an id, ascending, on every rank.
/// Memory: `mine`, and about 8 MiB.
/// Ranks:  collective over the readers; each passes the ids of its rows.
std::vector<DoubleId> find_double_ids(const Readers& readers, const std::vector<IdDigest>& mine,
                                      std::int64_t rows);

}  // namespace mgpu::input
