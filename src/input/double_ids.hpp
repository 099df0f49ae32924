#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers.hpp"

namespace mgpu::input {

/// The digest of the id of a row. It has the first 128 bits of the SHA-256 of the value in column
/// `id`.
struct IdDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::int64_t row = 0;
  std::int64_t line = 0;
};

IdDigest digest_id(std::string_view id, std::int64_t row, std::int64_t line);

/// A row whose value in column `id` occurs in an earlier row. `row` is the global sample id of the
/// row (Row::id).
struct DoubleId {
  std::int64_t row = 0;
  std::int64_t line = 0;
  std::int64_t first_line = 0;  // line of the first row with the same value in column `id`
};

/// Returns all rows whose value in column `id` occurs in an earlier row, in ascending order of
/// `row`. Every rank gets the same list. `mine` contains the digests of the rows that this rank has
/// read. `rows` is the total number of rows that all ranks have read.
///
/// Memory: about 8 MiB in addition to `mine`.
/// Ranks:  collective over the readers.
std::vector<DoubleId> find_double_ids(const Readers& readers, const std::vector<IdDigest>& mine,
                                      std::int64_t rows);

}  // namespace mgpu::input
