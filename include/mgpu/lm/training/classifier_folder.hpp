#pragma once

#include <cstdint>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/weights/model_folder.hpp>

namespace mgpu::lm {

/// What a folder's head classifies, or gives a value to.
enum class Classified : std::uint8_t {
  sequences,  // ForSequenceClassification: the last token stands for the sequence
  tokens,     // ForTokenClassification
};

/// The head that transformers has in such a folder of the family, in the place of the vocabulary.
ModelHead classifier_head(const LmConfig& config, Classified what, std::int64_t outputs);

/// companion_files() for a model with classifier_head(). config.json names the architecture, where
/// it named one, and the labels LABEL_0, LABEL_1, ...; there is no generation_config.json. Beside
/// weights under the names of the arena they make a folder that
/// AutoModelForSequenceClassification or AutoModelForTokenClassification opens. transformers needs
/// a `pad_token_id` to give a value to several sequences at once; it stays as `folder` has it.
///
/// Errors: those of companion_files().
CompanionFiles classifier_files(const fs::path& folder, Classified what, std::int64_t outputs);

}  // namespace mgpu::lm
