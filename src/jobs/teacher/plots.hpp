#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "inputs.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Adds data about the targets of a sealed file: a few texts with the teacher's predictions, and
/// the probability of the first k tokens of each list. Reads at most some ten thousand lists,
/// spread over the file.
///
/// Shapes: num_tokens [rows of the table]
/// Memory: 8 bytes for each row and ragged column, and a few MiB. Local.
/// Errors: those of StoredTargets and ListColumn.
void add_targets(const std::filesystem::path& results, const TeacherInputs& inputs,
                 std::span<const std::int32_t> num_tokens, TeacherPlots& plots);

/// Returns the values of k that are shown, up to `kept`.
std::vector<std::int64_t> shown_ks(std::int64_t kept);

}  // namespace mgpu::jobs
