#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// Returns one row, as JSON, of a data set that a small language model learns in minutes. Rows with
/// `prompt` and `completion` are sums up to 20 + 20, counting tasks, and reversed words. A row with
/// `text` is a short story that ends with a question and its answer. The row is a function of
/// (seed, index).
std::string synthetic_text(std::int64_t index, std::uint64_t seed);

}  // namespace mgpu::datasets
