#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "inputs.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Adds data of the written results.h5 to `plots`: a few texts with the teacher's predictions and,
/// for several k, the probability of the k most probable tokens. With random_sampling, a text about
/// the sampled tokens replaces these probabilities. Reads the predictions for at most about 33,000
/// tokens. With teacher.targets=topk, these tokens are spread over the file.
///
/// Ranks:  local.
/// Shapes: num_tokens [rows of the table]
/// Memory: 8 bytes for each row of each list column, and a few MiB.
/// Errors: those of StoredTargets and ListColumn.
void add_targets(const std::filesystem::path& results, const TeacherInputs& inputs,
                 std::span<const std::int32_t> num_tokens, TeacherPlots& plots);

/// Returns the values of k, up to the stored number `kept`, for which the page shows the
/// probability of the k most probable tokens.
std::vector<std::int64_t> shown_ks(std::int64_t kept);

}  // namespace mgpu::jobs
