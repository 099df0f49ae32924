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

/// Holds the inputs of job teacher: rows, settings and the model's configuration. The weights of
/// the model are not included.
struct TeacherInputs : rows::ModelRows {
  TeacherConfig config{};
  std::uint32_t phase = 0;  // phase id in the journal, a checksum of rows and model

  /// Returns the largest allowed number of tokens of a sample. This is data.max_length. If the
  /// model has learned positions, the result is at most the number of these positions.
  std::int64_t max_length() const;

  /// Returns an object that turns these rows into samples.
  TeacherEncoder encoder() const;

  run::RowCounts counts() const { return {config.run.chunk_size, rows.rows()}; }

  /// Returns the sizes that determine the memory of the model on `device`, for samples of
  /// max_length() tokens.
  lm::MemoryDemand demand(DeviceKind device) const;
};

/// Reads the rows and the model's configuration. Every rank gets the same inputs.
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows() and of reading the model's folder. If one rank fails, all ranks
///         throw.
TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config,
                                  const TeacherConfig& keys, lm::ResidentModels* models = nullptr);

/// Reads the rows and the model's configuration on this rank alone, for --check and --plan.
/// Errors: those of open_rows() and of reading the model's folder.
TeacherInputs read_teacher_inputs(const Config& config, const TeacherConfig& keys);

}  // namespace mgpu::jobs
