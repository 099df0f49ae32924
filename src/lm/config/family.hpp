#pragma once

#include <span>
#include <string>
#include <string_view>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "config_fields.hpp"

namespace mgpu::lm {

/// The functions and settings that one model family (`model_type` of config.json) needs. To add a
/// family, write families/NAME.cpp with a function NAME_family(), and add NAME to MGPU_FAMILIES in
/// family.cpp.
struct Family {
  std::string_view name;          // model_type
  std::string_view class_prefix;  // prefix of transformers' class names, such as "Llama"

  /// Sets the fields of `config` that depend on the family. parse_lm_config() sets all other
  /// fields.
  /// Errors: Failure E701 for a feature that is not supported, E702 for an invalid value.
  void (*read)(const ConfigFields& fields, LmConfig& config);

  /// Takes each tensor of the model from `source` once, by its name in the model folder.
  LmWeights (*bind)(const LmConfig& config, WeightSource& source);

  std::string_view quantization = {};  // the supported quant_method; "": no quantization
  const char* embedding = "model.embed_tokens.weight";  // name of the embedding in the folder
};

/// Returns all families, in the order of MGPU_FAMILIES.
std::span<const Family* const> families();

/// Returns the family `name`; nullptr if no family has this name.
const Family* find_family(std::string_view name);

/// Returns the names of all families: "gpt2, gpt_oss, ...".
std::string family_names();

}  // namespace mgpu::lm
