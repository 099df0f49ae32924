#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: V vocabulary, D width, I inner width, P positions, C head width, H query
// heads, Q = H * C, K = key-value heads * C.
namespace mgpu::lm {

/// A linear layer, which computes x W^T + b.
struct Linear {
  at::Tensor weight;  // [out, in], perhaps a view with other strides; undefined when packed
  at::Tensor bias;    // [out]; undefined: none
  at::Tensor panels;  // [panels, in, outputs of a panel] for the CPU kernels (packed_product.hpp);
                      // undefined: not packed
  std::int64_t outputs = 0;  // number of outputs; set only if the weight is packed

  bool is_defined() const { return weight.defined() || panels.defined(); }
};

struct Norm {
  at::Tensor weight;  // [D]
  at::Tensor bias;    // [D]; undefined for an RMS norm
};

struct Expert {
  Linear gate;  // [I, D]
  Linear up;    // [I, D]
  Linear down;  // [D, I]
};

struct LayerWeights {
  Norm attention_norm;
  Linear q;           // [Q, D]
  Linear k;           // [K, D]
  Linear v;           // [K, D]
  Linear out;         // [D, Q]
  at::Tensor q_norm;  // [C]; undefined: no norm of heads
  at::Tensor k_norm;  // [C]
  at::Tensor sinks;   // [H], one per query head; undefined: none
  Norm mlp_norm;
  Linear gate;                  // [I, D]; undefined: no gate
  Linear up;                    // [I, D]
  Linear down;                  // [D, I]
  Linear router;                // [experts, D]; undefined: no mixture of experts
  std::vector<Expert> experts;  // empty: no mixture of experts
};

/// Returns the linear layers of a transformer layer in the order in which a pass reads them,
/// including undefined ones.
std::vector<Linear*> linears_of(LayerWeights& layer);

struct LmWeights {
  at::Tensor embedding;  // [V, D]
  at::Tensor positions;  // [P, D] learned positions; undefined: rotary embeddings
  std::vector<LayerWeights> layers;
  Norm norm;
  Linear head;  // [V, D] without a bias; the embedding itself if the two are tied
};

/// Provides the tensors of a model. For each tensor, bind_weights() calls take() once, with the
/// tensor's name in a Hugging Face folder and the shape that config.json requires.
class WeightSource {
public:
  virtual ~WeightSource() = default;
  virtual at::Tensor take(const std::string& name, const std::vector<std::int64_t>& shape) = 0;
};

/// Takes all tensors of a model with this config from `source`, and returns them as weights.
LmWeights bind_weights(const LmConfig& config, WeightSource& source);

/// Returns names and shapes of all tensors of a model, for a memory plan or a ParameterArena.
std::vector<tensor::ParameterSpec> weight_specs(const LmConfig& config);

/// The type of matrices and embedding. Norms, biases, learned positions and attention sinks are
/// float32.
enum class MatrixType : std::uint8_t { f32, bf16 };

struct LoadOptions {
  MatrixType matrices = MatrixType::f32;
};

/// Returns pointers to all defined matrices of linear layers, and to the embedding. These are the
/// tensors whose type is LoadOptions::matrices.
std::vector<at::Tensor*> matrices_of(LmWeights& weights);

/// Loads the weights of a folder to the CPU. The function converts float32, float16, bfloat16 and
/// MXFP4 (separate tensors of blocks and scales) exactly to float32, then rounds matrices to
/// LoadOptions::matrices. Tensor names in the files may lack the prefix of the base model
/// ("transformer.", "model."). Stored causal masks and rotary frequencies are ignored. If
/// LmConfig::tied_head is true, a stored head is ignored, too. With StoredHead::is_embedding in
/// LmConfig, it is loaded as the embedding instead.
///
/// Memory: the result is a copy; the files are not needed afterwards.
/// Errors: Failure E705 (missing or unexpected tensors, or wrong shapes or types; the message names
///         the first five), E706 (a value is not finite), both exit 65; those of
///         WeightFiles::check().
LmWeights load_weights(const LmConfig& config, const formats::WeightFiles& files,
                       const LoadOptions& options = {});

}  // namespace mgpu::lm
