#pragma once

#include <memory>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// Provides the tensors of a model folder as float32 on the CPU. If a tensor is missing or has the
/// wrong shape or type, take() returns zeros, and finish() reports the problem later. Errors of
/// take(): Failure E706 (a value is not finite), and those of WeightFiles::check().
class CheckedSource : public WeightSource {
public:
  /// Checks that take() has found every requested tensor, and that the folder has no unexpected
  /// tensors. Call this function after the last take(). Errors: Failure E705 if the check fails.
  virtual void finish() = 0;
};

/// Returns a source of the tensors in `files`. `files` must outlive the result. The source ignores
/// some tensors, and finish() does not report them as unexpected:
/// - a stored head that `config` does not use
/// - the causal masks of GPT-2
/// - the rotary frequencies of Llama
std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files,
                                                  const LmConfig& config);

}  // namespace mgpu::lm
