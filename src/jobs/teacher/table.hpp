#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/store/results/table.hpp>

#include "inputs.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace mgpu::jobs {

/// Table `samples` of results.h5 of job teacher: a row per sample, in the order of the input.
/// `kept`: names of the user's columns.
store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab,
                               const std::vector<std::string>& kept = {});

/// Bytes of the targets of a token, ids and all, in that table; 0 where they differ from token to
/// token.
std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab);

/// The journal payload of the samples from `first` on.
std::vector<std::byte> teacher_rows(const TeacherInputs& inputs, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets);

}  // namespace mgpu::jobs
