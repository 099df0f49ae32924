#pragma once

#include <cstddef>

#include <mgpu/lm/training/lm_windows.hpp>

// Appends examples of one list to another list.
namespace mgpu::recipes {

/// Appends all examples of `from`, with their columns and texts, to `to`.
void append_examples(const lm::LmExamples& from, lm::LmExamples& to);

/// Appends example number `example` of `from`, with its columns and texts, to `to`.
void append_example(const lm::LmExamples& from, std::size_t example, lm::LmExamples& to);

}  // namespace mgpu::recipes
