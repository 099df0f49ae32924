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

/// Returns the columns and the size of table `samples` of results.h5 of job teacher. The table has
/// one row per sample, in the order of the input. `kept` names the columns of the input that the
/// results keep (output.keep_columns).
store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab,
                               const std::vector<std::string>& kept = {});

/// Returns how many bytes table `samples` stores for the predictions of a token, including ids.
/// Returns 0 with teacher.targets=random_sampling, because this number differs between tokens.
std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab);

/// Returns how many bytes table `samples` stores, at most, for the tokens that are drawn at one
/// position.
double drawn_bytes(const TeacherConfig& config, std::int64_t vocab);

/// Encodes the rows of samples for the journal. The first sample is row `first` of the table.
std::vector<std::byte> teacher_rows(const TeacherInputs& inputs, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets);

}  // namespace mgpu::jobs
