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

/// Describes table `samples` of results.h5 of job teacher. It has one row per sample, in the order
/// of the input. `kept` names the user's columns.
store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab,
                               const std::vector<std::string>& kept = {});

/// Returns the bytes of the targets of a token in table `samples`, including ids; 0 if they differ
/// between tokens.
std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab);

/// Packs the rows of the samples from `first` on for the journal.
std::vector<std::byte> teacher_rows(const TeacherInputs& inputs, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets);

}  // namespace mgpu::jobs
