#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/run/run_context.hpp>

namespace mgpu::recipes {

/// The sequence column with the log-probability of each example under the reference: the sum over
/// the learned tokens, in nats. The reference is the model of LmMethod::reference_folder(). If this
/// folder is "", the reference is the trained model before the training.
inline constexpr const char* kReferenceColumn = "reference_log_prob";

inline constexpr const char* kReferenceFile = "reference.h5";  // in the run directory

/// Examples whose log-probabilities a reference model computes.
struct ReferenceExamples {
  const lm::LmWindows& training;
  const lm::LmWindows& held_out;
  std::uint32_t model_crc = 0;  // checksum of the reference's model folder; 0: random weights

  std::size_t size() const { return training.examples().size() + held_out.examples().size(); }
};

/// A function that returns the reference model. Ranks: collective over the world.
using OpenReference = std::function<const lm::TrainableModel&()>;

/// Returns the log-probabilities of all examples under the reference, first those of `training`,
/// then those of `held_out`. Reads them from reference.h5 in the run directory. If this file is
/// missing or damaged, computes them with the model that `open` returns, and writes the file.
/// Returns nullopt if a stop was requested. In this case, the journal has the finished chunks of
/// examples, and a resumed run computes only the other chunks.
///
/// Each example is computed alone, so the file does not depend on the number of ranks.
///
/// Ranks:  collective over the world.
/// Errors: Failure E608 on all ranks if an earlier attempt had other examples or another model;
///         those of seal(), of read_table() and of `open`.
std::optional<std::vector<double>> reference_log_probs(run::RunContext& run,
                                                       const OpenReference& open,
                                                       const ReferenceExamples& examples);

}  // namespace mgpu::recipes
