#pragma once

#include <memory>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// Tensors of a folder, float32 on the CPU. One that does not fit is zeros until finish().
class CheckedSource : public WeightSource {
public:
  /// After the last tensor. Errors: Failure E705 when anything did not fit.
  virtual void finish(bool tied_head) = 0;
};

/// `files` outlives the source.
std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files,
                                                  const LoadOptions& options);

}  // namespace mgpu::lm
