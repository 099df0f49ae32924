#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/store/results/table.hpp>

#include "keys.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace mgpu::jobs {

/// Table `samples` of results.h5 of job teacher: a row per sample, in the order of the input.
store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab);

/// Bytes of the targets of a token, ids and all, in that table; 0 where they differ from token to
/// token.
std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab);

/// The journal payload of the samples from `first` on.
std::vector<std::byte> teacher_rows(const store::TableSpec& spec, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets,
                                    const TeacherConfig& config, std::int64_t vocab);

}  // namespace mgpu::jobs
