#pragma once

#include <cstdint>
#include <string>

namespace mgpu::datasets {

/// `count` lines of JSON, for a first language model of a few minutes: sums up to 20 + 20,
/// counting, words backwards (each `prompt` and `completion`), and short stories that end with a
/// question and its answer (`text`). Line i is a function of (seed, i).
std::string little_texts(std::int64_t count, std::uint64_t seed);

}  // namespace mgpu::datasets
