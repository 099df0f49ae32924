#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <support/temporary_folder.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::lm {

/// Sizes of a Llama with random weights.
struct MadeModel {
  int layers = 5;
  int width = 48;
  int inner = 80;
  int heads = 6;
  int kv_heads = 3;
  int vocab = 301;
  bool is_tied = false;
  double head_spread = 0.2;  // standard deviation of the head, which makes distributions sharp
};

inline void make_folder(const fs::path& folder, const MadeModel& model) {
  std::ofstream(folder / "config.json")
      << R"({"model_type": "llama", "max_position_embeddings": 512, "hidden_size": )" << model.width
      << R"(, "intermediate_size": )" << model.inner << R"(, "num_hidden_layers": )" << model.layers
      << R"(, "num_attention_heads": )" << model.heads << R"(, "num_key_value_heads": )"
      << model.kv_heads << R"(, "vocab_size": )" << model.vocab << R"(, "tie_word_embeddings": )"
      << (model.is_tied ? "true" : "false") << "}";
  at::manual_seed(7);
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  for (const tensor::ParameterSpec& spec : weight_specs(read_lm_config(folder))) {
    const double spread = spec.name == kHeadName ? model.head_spread : 0.2;
    kept.push_back(spec.shape.size() > 1 ? at::randn(spec.shape) * spread : at::ones(spec.shape));
    tensors.push_back({spec.name, spec.shape, tensor::view_of(kept.back())});
  }
  formats::write_safetensors(folder / "model.safetensors", tensors, {});
}

/// Runs make_folder() in another process, so that the heap of this process does not change. Call it
/// before this process starts threads.
inline void make_elsewhere(const fs::path& folder, const MadeModel& model) {
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

/// A folder that rank 0 makes and later removes, and all ranks can read.
class MadeFolder {
public:
  MadeFolder(const cluster::Group& world, const MadeModel& model) : world_(world) {
    if (world.rank() == 0) {
      owner_.emplace();
      make_folder(owner_->path(), model);
    }
    path_ = world.broadcast(owner_ ? owner_->path().string() : std::string(), 0);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  ~MadeFolder() { world_.barrier(); }

  const fs::path& path() const { return path_; }

private:
  const cluster::Group& world_;
  std::optional<testing_support::TemporaryFolder> owner_;
  fs::path path_;
};

}  // namespace mgpu::lm
