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

/// Values by name: one per token, or one per sequence.
using Columns = std::map<std::string, std::vector<double>, std::less<>>;

/// Returns the column of that name. Errors: ShapeError with the names of all columns.
const std::vector<double>& column_of(const Columns& columns, std::string_view name);

/// What a teacher says behind each of N tokens: a list of ids with their probabilities, and the
/// mass of all other ids. Lists of one token after the other; those of tokens without a target
/// are not looked at.
struct TeacherTargets {
  std::vector<std::int64_t> ends;  // [N] of each list, in ids
  std::vector<std::int64_t> ids;   // different ones in each list
  std::vector<float> log_probs;    // of ids, nats
  std::vector<float> tail_mass;    // [N] 0: the list is all that the teacher says
};

/// Sums over the targets that are not ignored; sums of batches add up.
struct LmSums {
  double loss = 0.0;             // nats
  std::int64_t predictions = 0;  //
  std::int64_t correct = 0;      // of those, the target has the largest logit

  LmSums& operator+=(const LmSums& other);
};

/// Value and derivatives of a SequenceLoss for a batch, known before the second sweep.
struct BatchSlopes {
  LmSums sums{};
  std::vector<double> log_probs{};  // [N] d loss / d log-probability of the target; empty: all 0
  std::vector<double> head{};       // [rows, outputs] d loss / d output of the head; empty: all 0
};

/// Whole sequences, one after the other; none sees another, and nothing is padded.
struct LmBatch {
  std::vector<TokenRun> runs;         // [S]
  std::vector<std::int64_t> targets;  // [N] the token that follows, or kernels::kIgnoreTarget

  Columns token_columns{};                                           // each [N]
  Columns sequence_columns{};                                        // each [S]
  std::map<std::string, TeacherTargets, std::less<>> token_lists{};  // each [N]

  /// [S] Sequences with the same number form a group. Empty: each sequence is its own group.
  std::vector<std::uint64_t> groups{};

  std::optional<BatchSlopes> slopes{};  // for SequenceLoss only
};

/// Errors: ShapeError when a column, a list or `groups` has another length than the batch.
void require_whole_columns(const LmBatch& batch);

}  // namespace mgpu::lm
