#pragma once

#include <cstdint>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::lm {

/// The token at which a process reward model judges a step of a solution.
enum class StepPlace : std::uint8_t {
  separator,   // the last token of a separator text after each step, as in PRMTrainer of TRL
  last_token,  // the last token that the policy sampled for the step
};

/// Returns "separator" or "last_token".
const char* name_of(StepPlace place);

/// The head of a process reward model, which judges the steps of a solution. The model is stored as
/// a ForTokenClassification. Its config.json stores `place` and `separator` in a member
/// `step_head`, which transformers keeps and ignores.
struct StepHead {
  /// 1: the output is the logit of the probability that a step is right. 2: the outputs are the
  /// logits of a wrong and of a right step.
  std::int64_t outputs = 1;
  StepPlace place = StepPlace::separator;
  std::string separator = "\n";  // used only with StepPlace::separator

  /// Returns the logit of the probability that a step is right.
  /// Shapes: values [outputs], the outputs of the head at the token that judges the step
  double logit(const double* values) const {
    return outputs == 2 ? values[1] - values[0] : values[0];
  }
};

/// Sets the member `step_head` of a config.json to `head`, and removes the member `value_head`.
/// `config` is the text of the file. Returns the changed text.
///
/// Error messages show `path` as the name of the file. The function does not open this file.
///
/// Errors: Failure E622 if `config` is a Git LFS pointer, E623 if `config` is not a JSON object.
std::string with_step_head(const fs::path& path, const std::string& config, const StepHead& head);

/// Returns whether the first architecture in config.json of `folder` ends with
/// ForTokenClassification. Errors: Failure E603, E622, E623.
bool classifies_tokens(const fs::path& folder);

/// Returns the head that config.json of `folder` describes. If the file has no member `step_head`,
/// `place` and `separator` have their default values, which suit the models of TRL's PRMTrainer.
/// Errors: Failure E603, E622, E623; E702 (exit 65) if the model is not a ForTokenClassification
///         with one or two labels, or if `step_head` is not valid.
StepHead read_step_head(const fs::path& folder);

}  // namespace mgpu::lm
