#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::lm {

/// The kinds of value heads. The kind defines what the outputs of the head at a token of a
/// completion mean. In the descriptions, R is the return of the completion.
enum class ValueKind : std::uint8_t {
  bernoulli,    // one output: the logit of the probability that R is 1, where R is 0 or 1
  histogram,    // K outputs: the logits of a distribution of R over K values, the atoms
  expectation,  // one output: the expected value of R, or another score
};

/// Returns "bernoulli", "histogram" or "expectation".
const char* name_of(ValueKind kind);

/// The head of a value model. The model is stored as a ForTokenClassification. Its config.json
/// describes the head in a member `value_head`, which transformers keeps and ignores.
struct ValueHead {
  ValueKind kind = ValueKind::bernoulli;
  std::int64_t outputs = 1;  // K of a histogram; otherwise 1
  double lowest = 0.0;       // histogram: the first atom
  double highest = 1.0;      // histogram: the last atom

  /// Returns atom `index` of a histogram. The atoms are evenly spaced.
  double atom(std::int64_t index) const {
    if (outputs == 1) return lowest;
    return lowest +
           (highest - lowest) * static_cast<double>(index) / static_cast<double>(outputs - 1);
  }

  /// Returns the index of the atom of a histogram that is nearest to `value`.
  std::int64_t nearest_atom(double value) const;

  friend bool operator==(const ValueHead&, const ValueHead&) = default;
};

/// Computes the expected return at one token from the outputs of the head at this token. With
/// ValueKind::expectation, the result is the output itself.
///
/// Shapes: outputs [ValueHead::outputs]
double expected_return(const ValueHead& head, std::span<const double> outputs);

/// Sets the member `value_head` of a config.json to `head`, and removes the member `step_head`.
/// `config` is the text of the file. Returns the changed text.
///
/// Error messages show `path` as the name of the file. The function does not open this file.
///
/// Errors: Failure E622 if `config` is a Git LFS pointer, E623 if `config` is not a JSON object.
std::string with_value_head(const fs::path& path, const std::string& config, const ValueHead& head);

/// Returns the head that config.json of `folder` describes; nullopt if the model is not a
/// ForTokenClassification. If config.json has one label and no `value_head`, because another
/// program wrote it, the kind of the head is ValueKind::bernoulli.
///
/// Errors: Failure E603, E622, E623; E702 (exit 65) in these cases:
///         - The `value_head` is not valid.
///         - The number of labels differs from the number of outputs in `value_head`.
///         - There are several labels, and no `value_head`.
std::optional<ValueHead> read_value_head(const fs::path& folder);

}  // namespace mgpu::lm
