#include "made_folder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/formats/safetensors.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::lm {

void make_folder(const fs::path& folder, const MadeModel& model) {
  std::ofstream(folder / "config.json")
      << R"({"model_type": "llama", "max_position_embeddings": 512, "hidden_size": )" << model.width
      << R"(, "intermediate_size": )" << model.inner << R"(, "num_hidden_layers": )" << model.layers
      << R"(, "num_attention_heads": )" << model.heads << R"(, "num_key_value_heads": )"
      << model.kv_heads << R"(, "vocab_size": )" << model.vocab << R"(, "tie_word_embeddings": )"
      << (model.is_tied ? "true" : "false") << model.more_config << "}";
  at::manual_seed(7);
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  std::vector<tensor::ParameterSpec> specs = weight_specs(read_lm_config(folder));
  if (model.scores > 0) {
    std::erase_if(specs, [](const auto& spec) { return spec.name == kHeadName; });
    const ModelHead head{.outputs = model.scores, .has_bias = true};
    std::ranges::move(head_specs(head, model.width), std::back_inserter(specs));
  }
  for (const tensor::ParameterSpec& spec : specs) {
    const double spread = spec.name == kHeadName ? model.head_spread : 0.2;
    kept.push_back(spec.shape.size() > 1 ? at::randn(spec.shape) * spread : at::ones(spec.shape));
    tensors.push_back({spec.name, spec.shape, tensor::view_of(kept.back())});
  }
  formats::write_safetensors(folder / "model.safetensors", tensors, {});
}

void make_elsewhere(const fs::path& folder, const MadeModel& model) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      make_folder(folder, model);
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
}

}  // namespace mgpu::lm
