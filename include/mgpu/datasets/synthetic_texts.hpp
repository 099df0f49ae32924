#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// Returns one row of JSON for a first language model that trains in minutes. A row with `prompt`
/// and `completion` is a sum up to 20 + 20, a task of counting, or a reversed word. A row with
/// `text` is a short story that ends with a question and its answer. The row is a function of
/// (seed, index).
std::string synthetic_text(std::int64_t index, std::uint64_t seed);

}  // namespace mgpu::datasets
