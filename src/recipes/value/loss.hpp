#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/config/value_head.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"

// Shapes in this header: O outputs of the value head, M learned tokens of a sequence.
namespace mgpu::recipes {

/// The sequence column with the return of each completion, which the losses use as the label.
inline constexpr const char* kReturnColumn = "return";

/// The losses of recipe `value`. y is the return of a completion, z the output of the head at a
/// token of the completion, and s the sigmoid function.
enum class ValueLossKind : std::uint8_t {
  bce,            // -y log s(z) - (1 - y) log s(-z); head bernoulli
  mse,            // head bernoulli: (s(z) - y)^2; head expectation: (z - y)^2
  mle,            // -log p of the atom nearest to y; head histogram
  bradley_terry,  // -log s(mean z of the chosen - mean z of the rejected completion)
};

/// The settings of recipe `value`.
struct ValueSettings {
  lm::ValueHead head;
  ValueLossKind kind = ValueLossKind::bce;
  bool has_pairs = false;  // true: rows are preferences with `chosen` and `rejected`
  double lm_weight = 0.0;  // weight of the cross-entropy of the learned tokens
  // Above 0: the preferred completion of each pair is drawn at random with the Bradley-Terry model.
  double preference_beta = 0.0;
  std::uint64_t seed = 0;           // run.seed, for draws of preferences
  bool drops_equal_labels = false;  // true: drop prompts whose completions all have the same return

  bool draws_preferences() const { return preference_beta > 0.0; }
  bool compares_pairs() const { return kind == ValueLossKind::bradley_terry; }
};

/// Returns the loss of one token, and writes its derivatives with respect to `outputs` to `slopes`.
/// ValueSettings::kind must not be bradley_terry.
///
/// Shapes: outputs [O], slopes [O]
double loss_of_token(const ValueSettings& settings, double label, std::span<const double> outputs,
                     std::span<double> slopes);

/// Trains the head to predict the return of a completion after each of its M learned tokens. The
/// loss of a sequence is the mean over these tokens, and the batch loss is the mean over sequences.
/// With bradley_terry the sequences are groups of two, chosen before rejected, and the loss is the
/// mean over the pairs.
///
/// A second term is added: lm_weight times the cross-entropy of the learned tokens. This term is
/// averaged over the tokens of each sequence, then over the sequences. Sequence column
/// kReturnColumn has the return of each sequence.
///
/// Source: Bobbili et al., arXiv 2507.20067; Zhou et al., arXiv 2502.20548.
class ValueLoss final : public lm::SequenceLoss {
public:
  explicit ValueLoss(const ValueSettings& settings) : settings_(settings) {}

  /// Returns descriptions of the numbers that the loss reports for a batch.
  static std::vector<ReportedValue> reported_values(const ValueSettings& settings);

  lm::ValueRequest request() const override;
  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;
  std::int64_t terms(const lm::SequenceTable& all) const override;

private:
  std::size_t outputs() const { return static_cast<std::size_t>(settings_.head.outputs); }
  std::vector<double> values_of(const lm::MeasuredSequence& sequence) const;
  void weigh_tokens(const lm::MeasuredSequence& sequence, lm::SequenceTerm& term) const;
  void weigh_pair(const lm::SequencePlace& place, lm::SequenceTerm& term,
                  std::size_t learned) const;
  void add_cross_entropy(const lm::MeasuredSequence& sequence, lm::SequenceTerm& term) const;

  ValueSettings settings_;
};

}  // namespace mgpu::recipes
