#pragma once

#include <cstdint>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::lm {

/// The unit to which a classifier's head gives classes or values.
enum class Classified : std::uint8_t {
  sequences,  // ForSequenceClassification: the last token stands for the sequence
  tokens,     // ForTokenClassification
};

/// Returns the head that transformers expects in such a folder of the family. It replaces the
/// vocabulary head.
ModelHead classifier_head(const LmConfig& config, Classified what, std::int64_t outputs);

/// Returns companion_files() for a model with classifier_head(). config.json has the labels
/// LABEL_0, LABEL_1, ... and the architecture of a classifier if `folder` names one. There is no
/// generation_config.json. With the weights of the arena they form a folder that
/// AutoModelForSequenceClassification or AutoModelForTokenClassification opens.
///
/// `pad_token_id` is not changed. transformers needs one for batches of sequences.
/// Errors: those of companion_files().
CompanionFiles classifier_files(const fs::path& folder, Classified what, std::int64_t outputs);

}  // namespace mgpu::lm
