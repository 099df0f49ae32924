#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::lm {

/// The weights of a classifier. The vocabulary head, decoder.head, is undefined.
struct ClassifierTensors {
  LmWeights decoder;
  std::vector<at::Tensor> head;  // tensors of the classifier head, float32 on the CPU
};

/// Returns the config of a classifier's folder. `tied_head` is true, so that the folder needs no
/// lm_head.weight. A stored lm_head.weight is ignored.
///
/// Errors: those of read_lm_config().
LmConfig read_classifier_config(const fs::path& folder);

/// Reads the weights of a classifier's folder. `head` describes the tensors of the classifier head.
/// If `resident` is not nullptr, the ranks of a node share one copy of the weights.
/// Ranks:  local
/// Errors: those of WeightFiles and load_weights(); Failure E705 if a tensor is missing or has
///         another shape.
ClassifierTensors read_classifier(const fs::path& folder, const LmConfig& config,
                                  std::span<const tensor::ParameterSpec> head, Device device,
                                  ResidentModels* resident);

}  // namespace mgpu::lm
