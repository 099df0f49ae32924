#pragma once

#include <span>
#include <string>
#include <string_view>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "config_fields.hpp"

namespace mgpu::lm {

/// Everything that is specific to one model_type.
struct Family {
  std::string_view name;  // model_type

  /// Fills the config, except for the fields that read_lm_config() reads for all families.
  /// Errors: Failure E701, E702.
  void (*read)(const ConfigFields& fields, LmConfig& config);

  /// Takes each tensor of the model once, by its name in the folder.
  LmWeights (*bind)(const LmConfig& config, WeightSource& source);

  std::string_view quantization = {};  // the supported quant_method; "": no quantization
};

// Declares one function per family, which is defined in families/NAME.cpp.
const Family& gpt2_family();
const Family& gpt_oss_family();
const Family& llama_family();
const Family& mistral_family();
const Family& qwen2_family();
const Family& qwen3_family();

/// All families, by name.
std::span<const Family* const> families();

/// Returns nullptr if no family has this name.
const Family* find_family(std::string_view name);

/// "gpt2, llama, ...".
std::string family_names();

}  // namespace mgpu::lm
