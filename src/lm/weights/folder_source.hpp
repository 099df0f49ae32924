#pragma once

#include <memory>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// The tensors of a model folder, float32 on the CPU. If a tensor is missing or has the wrong shape
/// or type, take() returns zeros, and finish() reports all such tensors. Errors of take(): Failure
/// E706 (a value is not finite).
class CheckedSource : public WeightSource {
public:
  /// Checks that take() has found every requested tensor, and that the folder has no tensors that
  /// are unknown to the program. Call finish() last. Errors: Failure E705 if the check fails.
  virtual void finish() = 0;
};

/// Returns a source of the tensors in `files`, which must outlive it. These extra tensors are no
/// error in finish(): a stored head that `config` does not use, causal masks of GPT-2, and rotary
/// frequencies of Llama.
std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files,
                                                  const LmConfig& config);

}  // namespace mgpu::lm
