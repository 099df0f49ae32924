#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N tokens of all sequences, S sequences.
namespace mgpu::lm {

/// Columns by name. A column has one value per token, or one per sequence.
using Columns = std::map<std::string, std::vector<double>, std::less<>>;

/// Returns the column `name`.
/// Errors: ShapeError, with the names of all columns, if there is no such column.
const std::vector<double>& column_of(const Columns& columns, std::string_view name);

/// A teacher's next-token distribution at each of N tokens. Each distribution is a list of ids with
/// log-probabilities, and the probability mass of all other ids. The lists are concatenated in the
/// order of the tokens. Lists of tokens without a target are ignored.
struct TeacherTargets {
  std::vector<std::int64_t> ends;  // [N] index in `ids` after the last id of each list
  std::vector<std::int64_t> ids;   // distinct within a list
  std::vector<float> log_probs;    // of the ids, nats
  std::vector<float> tail_mass;    // [N] probability of all other ids; 0: the list is complete
};

/// Sums of loss and correct predictions over the targets that are not ignored. Sums of several
/// batches can be added.
struct LmSums {
  double loss = 0.0;             // nats
  std::int64_t predictions = 0;  // number of targets that are not ignored
  std::int64_t correct = 0;      // number of targets that have the largest logit; for a
                                 // SequenceLoss, the sum of SequenceTerm::correct
  double cross_entropy = 0.0;    // of the targets, nats; 0 if the loss does not compute it

  LmSums& operator+=(const LmSums& other);
};

/// The sums and derivatives of a SequenceLoss for one batch. They are computed between the two
/// sweeps of the loss (see SequenceLoss).
struct BatchSlopes {
  LmSums sums{};
  std::vector<double> log_probs{};  // [N] d loss / d log-probability of the target; empty: all 0
  std::vector<double> head{};       // d loss / d output of ModelHead; empty: all 0. Shape: [rows
                                    // that ValueRequest::head_rows selects, ModelHead::outputs]
};

/// A batch of whole sequences, concatenated without padding. No token attends to another sequence.
struct LmBatch {
  std::vector<SequenceSpan> spans;    // [S]
  std::vector<std::int64_t> targets;  // [N] the next token, or kernels::kIgnoreTarget

  Columns token_columns{};                                           // each [N]
  Columns sequence_columns{};                                        // each [S]
  std::map<std::string, TeacherTargets, std::less<>> token_lists{};  // by name; one list per token

  /// [S] Sequences with the same number form a group. Empty: each sequence is its own group.
  std::vector<std::uint64_t> groups{};

  std::optional<BatchSlopes> slopes{};  // only in the second sweep of a SequenceLoss
};

/// Checks the lengths of all columns, token lists and `groups` of a batch.
///
/// Errors: ShapeError when a length does not fit the number of tokens or sequences, or the members
///         of a TeacherTargets do not fit each other.
void require_whole_columns(const LmBatch& batch);

}  // namespace mgpu::lm
