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
  std::uint32_t phase = 0;  // in the journal: identifies rows and model

  /// Upper bound of the tokens of a sample: data.max_length, or the learned positions.
  std::int64_t max_length() const;

  SampleMaker sample_maker() const;

  /// The memory demand of chunks of `chunk_rows` samples of that length.
  lm::MemoryDemand demand(std::int64_t chunk_rows) const;
};

/// Errors: those of open_rows() and of the model's folder; the same on all ranks.
///
/// Ranks:  collective.
TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config,
                                  const TeacherConfig& keys, lm::ResidentModels* models = nullptr);

/// The same for one rank, for --check and --plan.
TeacherInputs read_teacher_inputs(const Config& config, const TeacherConfig& keys);

}  // namespace mgpu::jobs
