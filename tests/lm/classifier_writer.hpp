#pragma once

#include <filesystem>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/config/value_head.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::lm {

/// Writes the model's weights and `files` to `folder`, like a checkpoint.
inline void write_folder(const TrainableModel& model, const CompanionFiles& files,
                         const fs::path& folder) {
  for (const auto& [name, text] : files)
    write_file_durably(folder / name, text, "model");
  std::vector<formats::NamedTensor> tensors;
  const tensor::ParameterArena& arena = model.parameters();
  for (std::size_t p = 0; p < arena.size(); ++p)
    tensors.push_back(
        {arena.spec(p).name, arena.spec(p).shape, tensor::view_of(arena.parameter(p).detach())});
  formats::write_safetensors(folder / "model.safetensors", tensors, {});
}

/// Writes a value model to `folder`: the weights of `source`, and a head. The head's weights are
/// random with standard deviation `spread`, and its biases rise from -spread to spread. Returns the
/// model.
inline TrainableModel write_value_folder(const fs::path& source, const ValueHead& head,
                                         double spread, const fs::path& folder) {
  const LmConfig config = read_lm_config(source);
  const ModelHead own = classifier_head(config, Classified::tokens, head.outputs);
  TrainableModel model(config, Device{}, 7, {.head = own});
  model.load(formats::WeightFiles(source));
  {
    const at::NoGradGuard no_grad;
    const at::Tensor weight = model.parameters().parameter(own.name + ".weight");
    at::Tensor(weight).mul_(spread / 0.02);  // of standard deviation 0.02
    at::Tensor(model.parameters().parameter(own.name + ".bias"))
        .copy_(at::linspace(-spread, spread, head.outputs));
  }
  CompanionFiles files = classifier_files(source, Classified::tokens, head.outputs);
  files["config.json"] = with_value_head(source / "config.json", files["config.json"], head);
  write_folder(model, files, folder);
  return model;
}

/// Writes a process reward model to `folder`: the weights of `source`, and a random head. Returns
/// the model.
inline TrainableModel write_step_folder(const fs::path& source, const StepHead& head,
                                        const fs::path& folder) {
  TrainableModel model = write_value_folder(
      source, {.kind = ValueKind::histogram, .outputs = head.outputs}, 0.5, folder);
  CompanionFiles files = classifier_files(source, Classified::tokens, head.outputs);
  write_file_durably(folder / "config.json",
                     with_step_head(source / "config.json", files["config.json"], head), "model");
  return model;
}

}  // namespace mgpu::lm
