#pragma once

#include <cstdint>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::lm {

/// Says whether a classifier has one prediction per sequence or one per token.
enum class Classified : std::uint8_t {
  sequences,  // as ForSequenceClassification; the outputs at the last token are used
  tokens,     // as ForTokenClassification; the outputs at every token are used
};

/// Returns the head that transformers expects in a classifier folder of the model family of
/// `config`. The head has `outputs` outputs and replaces the vocabulary head.
ModelHead classifier_head(const LmConfig& config, Classified what, std::int64_t outputs);

/// Returns companion_files() of `folder` without generation_config.json, for a model whose head is
/// classifier_head(). config.json gets the labels LABEL_0, LABEL_1, ... and the name of the
/// classifier's class in `architectures`. The name is derived from the first entry of the old
/// `architectures`, or from `model_type` if there is no such entry. Together with the weights of
/// the ParameterArena, the files form a folder that AutoModelForSequenceClassification or
/// AutoModelForTokenClassification opens.
///
/// `pad_token_id` of config.json is not changed (see set_padding()). ForSequenceClassification of
/// transformers needs this id for batches of several sequences.
/// Errors: those of companion_files().
CompanionFiles classifier_files(const fs::path& folder, Classified what, std::int64_t outputs);

/// Sets `pad_token_id` of config.json in `files`. ForSequenceClassification takes its outputs at
/// the last token whose id is not `pad_token_id`.
void set_padding(std::int64_t pad_token_id, CompanionFiles& files);

}  // namespace mgpu::lm
