#include "classifier_tensors.hpp"

#include <map>
#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/tensor/tensor_view.hpp>

#include "lm/weights/folder_source.hpp"

namespace mgpu::lm {
namespace {

/// A WeightSource whose tensors are already in memory.
class NamedTensors : public WeightSource {
public:
  NamedTensors(std::span<const tensor::ParameterSpec> specs, std::span<const at::Tensor> tensors,
               at::Device device) {
    for (std::size_t i = 0; i < specs.size(); ++i)
      tensors_.emplace(specs[i].name, tensors[i].to(device));
  }
  at::Tensor take(const std::string& name, const std::vector<std::int64_t>& /*shape*/) override {
    return tensors_.at(name);
  }

private:
  std::map<std::string, at::Tensor> tensors_;
};

std::vector<at::Tensor> read_tensors(const fs::path& folder, const LmConfig& config,
                                     std::span<const tensor::ParameterSpec> specs,
                                     ResidentModels* resident) {
  const auto read = [&](std::span<const at::Tensor> tensors) {
    const formats::WeightFiles files(folder);
    const std::unique_ptr<CheckedSource> source = make_folder_source(files, config);
    for (std::size_t i = 0; i < specs.size(); ++i)
      at::Tensor(tensors[i]).copy_(source->take(specs[i].name, specs[i].shape));
    source->finish();
  };
  std::vector<std::vector<std::int64_t>> shapes;
  for (const tensor::ParameterSpec& spec : specs)
    shapes.push_back(spec.shape);
  if (resident != nullptr) return resident->open(folder, shapes, read);
  std::vector<at::Tensor> tensors;
  for (const std::vector<std::int64_t>& shape : shapes)
    tensors.push_back(at::empty(shape));
  read(tensors);
  return tensors;
}

}  // namespace

LmConfig read_classifier_config(const fs::path& folder) {
  LmConfig config = read_lm_config(folder, FolderWeights::ignored);
  config.tied_head = true;
  return config;
}

ClassifierTensors read_classifier(const fs::path& folder, const LmConfig& config,
                                  std::span<const tensor::ParameterSpec> head, Device device,
                                  ResidentModels* resident) {
  const at::NoGradGuard no_grad;
  std::vector<tensor::ParameterSpec> specs = weight_specs(config);
  specs.insert(specs.end(), head.begin(), head.end());
  const std::vector<at::Tensor> tensors = read_tensors(folder, config, specs, resident);
  NamedTensors source(specs, tensors, tensor::torch_device(device));
  ClassifierTensors read{bind_weights(config, source),
                         {tensors.end() - std::ssize(head), tensors.end()}};
  read.decoder.head = {};  // otherwise LanguageModel would make a packed copy of the embedding
  return read;
}

}  // namespace mgpu::lm
