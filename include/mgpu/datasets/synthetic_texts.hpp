#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// Returns `count` lines of JSON for a first language model that trains in minutes. They contain
/// sums up to 20 + 20, counting, reversed words (each with `prompt` and `completion`), and short
/// stories that end with a question and its answer (`text`). Line i is a function of (seed, i).
std::string synthetic_texts(std::int64_t count, std::uint64_t seed);

}  // namespace mgpu::datasets
