#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "inputs.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Adds what the targets of a sealed file say: a few texts with what the teacher thought of each
/// token, and the probability that the first k of each list have. Reads some ten thousand lists at
/// most, spread over the file.
///
/// Shapes: num_tokens [rows of the table]
/// Memory: 8 bytes for each row and ragged column, and a few MiB. Local.
/// Errors: those of StoredTargets and ListColumn.
void add_targets(const std::filesystem::path& results, const TeacherInputs& inputs,
                 std::span<const std::int32_t> num_tokens, TeacherPictures& pictures);

/// Tokens of the first k of each list, for some k up to all.
std::vector<std::int64_t> shown_ks(std::int64_t kept);

}  // namespace mgpu::jobs
