#pragma once

#include <cstdint>
#include <optional>

#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/run_context.hpp>

#include "keys.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

inline constexpr run::BatchNames kTeacherSamples{"teacher.batch_size", "sample", "samples",
                                                 "data.max_length"};

/// The inputs of job teacher, without the weights.
struct TeacherInputs : rows::ModelRows {
  TeacherConfig config{};
  std::uint32_t phase = 0;  // phase id in the journal, a checksum of rows and model

  /// Returns an upper bound of the tokens of a sample: data.max_length, or the number of learned
  /// positions.
  std::int64_t max_length() const;

  SampleMaker sample_maker() const;

  /// Returns the memory demand of chunks of `chunk_rows` samples of max_length() tokens.
  lm::MemoryDemand demand(std::int64_t chunk_rows) const;
};

/// Reads rows and the model's configuration.
/// Errors: those of open_rows() and of the model's folder; the same on all ranks.
///
/// Ranks:  collective.
TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config,
                                  const TeacherConfig& keys, lm::ResidentModels* models = nullptr);

/// Reads the same inputs on one rank, for --check and --plan.
TeacherInputs read_teacher_inputs(const Config& config, const TeacherConfig& keys);

}  // namespace mgpu::jobs
