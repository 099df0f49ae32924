#pragma once

#include <filesystem>

#include <mgpu/config/config.hpp>

namespace mgpu::jobs {

/// Checks that `reference`, the value of generate.reference, is the folder of a model. This model
/// and the model in folder `model` must have vocabularies of the same size. If both folders have a
/// tokenizer, the tokenizers must be equal. If `needs_weights`, the folder `reference` must have
/// weights, which are not read. Call this function before any work.
/// Ranks:  local; one rank calls this function.
/// Errors: those of check_model_folder(), read_lm_config() and read_tokenizer_files(); Failure E107
///         (exit 78) if the sizes of the vocabularies or the tokenizers differ.
void check_reference_folder(const Config& config, const std::filesystem::path& model,
                            const std::filesystem::path& reference, bool needs_weights);

}  // namespace mgpu::jobs
