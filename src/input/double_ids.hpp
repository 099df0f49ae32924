#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers.hpp"

namespace mgpu::input {

/// Identifies the `id` of a row by the first 128 bits of the SHA-256 of the id. `row` is Row::id.
struct IdDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::int64_t row = 0;
  std::int64_t line = 0;
};

IdDigest digest_id(std::string_view id, std::int64_t row, std::int64_t line);

/// A row whose id occurs in an earlier row. `row` is Row::id.
struct DoubleId {
  std::int64_t row = 0;
  std::int64_t line = 0;
  std::int64_t first_line = 0;  // line of the first row with this id
};

/// Returns all rows that repeat the id of an earlier row, in ascending order of `row`. Every rank
/// gets the same list. `mine` has the ids of the rows that this rank has read. `rows` is the total
/// number of rows that all ranks have read.
///
/// Memory: about 8 MiB in addition to `mine`.
/// Ranks:  collective over the readers.
std::vector<DoubleId> find_double_ids(const Readers& readers, const std::vector<IdDigest>& mine,
                                      std::int64_t rows);

}  // namespace mgpu::input
