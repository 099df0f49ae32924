#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/run/run_context.hpp>

namespace mgpu::recipes {

/// The sequence column with the log-probability, in nats, that the model before the training gives
/// the learned tokens of an example.
inline constexpr const char* kReferenceColumn = "reference_log_prob";

/// Examples whose log-probabilities a reference model computes.
struct ReferenceExamples {
  const lm::LmWindows& training;
  const lm::LmWindows& held_out;
  std::size_t size() const { return training.examples().size() + held_out.examples().size(); }
};

/// Returns the log-probability of each example, first those of `training`. They come from
/// reference.h5 in the run directory. If this file is missing or damaged, `model` computes them,
/// and the file is written. The model must then have the weights of the reference. nullopt means
/// that a stop was requested, and a later attempt continues.
///
/// Each example is computed alone, so the file does not depend on the number of ranks.
///
/// Ranks:  collective over the world.
/// Errors: Failure E608 on all ranks if the file is about other examples; those of seal() and
///         read_table().
std::optional<std::vector<double>> reference_log_probs(run::RunContext& run,
                                                       const lm::TrainableModel& model,
                                                       const ReferenceExamples& examples);

}  // namespace mgpu::recipes
