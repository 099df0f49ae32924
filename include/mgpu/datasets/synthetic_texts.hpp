#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// Returns one row of JSON for a first language model that trains in minutes. A sum up to 20 + 20,
/// counting, and a reversed word have `prompt` and `completion`. A short story that ends with a
/// question and its answer has `text`. The row is a function of (seed, index).
std::string synthetic_text(std::int64_t index, std::uint64_t seed);

}  // namespace mgpu::datasets
