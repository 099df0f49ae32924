#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// Returns one row of JSON for a first language model that trains in minutes: a sum up to 20 + 20,
/// counting, a reversed word (each with `prompt` and `completion`), or a short story that ends with
/// a question and its answer (`text`). The row is a function of (seed, index).
std::string synthetic_text(std::int64_t index, std::uint64_t seed);

}  // namespace mgpu::datasets
