#pragma once

#include <map>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/model/parameter_arena.hpp>
#include <mgpu/store/safetensors.hpp>

namespace mgpu::language {

/// Files beside the weights of a model folder, name and content.
using CompanionFiles = std::map<std::string, std::string>;

/// Those of `folder` that a model with the same config, vocabulary and template needs: config.json
/// and generation_config.json, tokenizer and chat template. config.json says float32, the type in
/// which trained weights are written; else it stays as it is, with what only others understand.
///
/// Errors: Failure E603 (no config.json), E622, E623 (not a JSON object).
CompanionFiles companion_files(const fs::path& folder);

/// The parameters under their names in the folder. Views into `weights`, a flat buffer on the host
/// with the layout of the arena.
std::vector<store::NamedTensor> named_tensors(const model::ParameterArena& arena,
                                              const at::Tensor& weights);

/// Writes a folder that AutoModelForCausalLM.from_pretrained opens, and LanguageModel::open. It
/// appears whole, under a name that must be free.
///
/// Memory: on a GPU a copy of the weights on the host.
/// Errors: Failure E601, E602; half a folder named `folder`.tmp stays behind then.
void write_model_folder(const fs::path& folder, const model::ParameterArena& arena,
                        const CompanionFiles& files);

}  // namespace mgpu::language
