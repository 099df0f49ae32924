#pragma once

#include <memory>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// The tensors of a folder, float32 on the CPU. take() returns zeros for a tensor that does not
/// fit, and finish() reports it.
class CheckedSource : public WeightSource {
public:
  /// Checks that all tensors were found, fit and were taken; call it last. Errors: Failure E705 if
  /// not.
  virtual void finish(bool tied_head) = 0;
};

/// Returns the source of a folder's tensors. `files` have to outlive the source.
std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files);

}  // namespace mgpu::lm
