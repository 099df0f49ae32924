#pragma once

#include <memory>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// The tensors of a folder, float32 on the CPU. take() returns zeros for a tensor that does not
/// fit, and finish() reports it.
class CheckedSource : public WeightSource {
public:
  /// Call it after the last tensor. Errors: Failure E705 when any tensor did not fit.
  virtual void finish(bool tied_head) = 0;
};

/// `files` have to outlive the source.
std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files);

}  // namespace mgpu::lm
