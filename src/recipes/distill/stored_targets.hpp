#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "keys.hpp"

namespace mgpu::recipes {

/// The attributes of group /teacher in results.h5 of job teacher.
struct TeacherFacts {
  std::int64_t vocab = 0;
  std::int64_t top_k = 0;      // number of most probable tokens stored at each position; 0: tokens
                               // were sampled instead
  std::int64_t num_draws = 0;  // number of sampled tokens at each position; 0: top_k is used
  std::int64_t id_bits = 0;    // bits of a token id in packed columns
  double temperature = 1.0;
};

/// The place of an example in the table `samples` of job teacher.
struct StoredPlace {
  std::int64_t row = 0;
  std::int64_t first = 0;  // index of the first token of the example in the row
};

/// The function numbers_of() converts the place of each example to two numbers, which ranks can
/// exchange. The function places_of() converts the numbers back.
std::vector<std::int64_t> numbers_of(const std::vector<StoredPlace>& places);
std::vector<StoredPlace> places_of(const std::vector<std::int64_t>& numbers);

/// Examples that were read from the results of job teacher. `places` has the place of each example
/// in table `samples`.
struct StoredExamples {
  lm::LmExamples examples;
  std::vector<StoredPlace> places;
  std::int64_t rows_without = 0;  // number of rows without a learned token after the first token
};

/// The targets (next-token distributions) that a run of job teacher has stored, read on demand.
///
/// Memory: 16 bytes for each example, after set_places().
class StoredTargets final : public lm::TargetSource {
public:
  /// Opens the file settings.targets. If `may_be_part` is true, the file may lack rows.
  /// Errors: those of ListColumn. Failure E605 (exit 65) when the file is incomplete or not from
  ///         job teacher, or when its columns contradict each other. E124 (exit 78) when its
  ///         targets do not fit the loss or temperature of `settings`.
  explicit StoredTargets(const DistillSettings& settings, bool may_be_part = false);

  const TeacherFacts& facts() const { return facts_; }

  /// Reads the rows as training examples. A row whose tokens are all learned has no prompt. Such a
  /// row is cut into pieces if it has more than seq_len tokens. Each piece after the first begins
  /// with the last token of the previous piece.
  ///
  /// Errors: those of ListColumn. Failure E531 (exit 65) for a row with a prompt and more than
  ///         seq_len tokens. E605 (exit 65) for a token outside the vocabulary, and when no row has
  ///         a token that is learned.
  StoredExamples read_examples(std::int64_t seq_len) const;

  /// Reads all columns once and verifies their checksums. Returns a checksum that covers the
  /// targets, but not the columns token_ids and is_learned.
  /// Errors: Failure E604 (exit 80) if a checksum differs.
  std::uint32_t check_bytes() const;

  /// Refuses a file that has a token id of `vocab` or more in its texts or targets. `vocab` is the
  /// size of the student's vocabulary. Reads the ids only if the teacher's vocabulary is larger.
  ///
  /// Errors: Failure E605 (exit 65); those of ListColumn.
  void require_ids_below(std::int64_t vocab) const;

  /// Sets the place of each example in the file. Call this function before append().
  void set_places(std::vector<StoredPlace> places) { places_ = std::move(places); }

  /// Appends the teacher's next-token distributions for an example to `lists`: one list of tokens
  /// with probabilities for each element of `targets`. The list is empty if the element is
  /// kIgnoreTarget.
  /// Errors: those of ListColumn; Failure E605 (exit 65) for a token with a wrong number of draws,
  ///         and for a listed token outside the vocabulary.
  void append(std::size_t example, std::span<const std::int64_t> targets,
              lm::TeacherTargets& lists) override;

private:
  struct Slice;
  struct Drawn {
    std::uint32_t id;
    std::uint32_t count;
  };

  void check_facts() const;
  void check_ids(std::int64_t row, std::span<const std::int64_t> ids) const;
  store::ListColumn open(const char* name) const;
  std::vector<std::int64_t> ids_of(std::int64_t row) const;
  void add_best_ids(const store::ReadColumn& ids, std::size_t item,
                    std::vector<std::int64_t>& into) const;
  void append_best(const Slice& slice, std::span<const std::int64_t> targets,
                   lm::TeacherTargets& lists) const;
  void append_draws(const Slice& slice, std::span<const std::int64_t> targets,
                    lm::TeacherTargets& lists) const;
  std::vector<Drawn> read_draws(std::int64_t row, std::int64_t first, std::int64_t count) const;

  DistillSettings settings_;
  TeacherFacts facts_;
  store::ListColumn tokens_;
  store::ListColumn learned_;
  bool is_packed_ = false;
  std::optional<store::ListColumn> log_probs_;  // unset for sampled targets
  std::optional<store::ListColumn> tails_;      // unset for sampled or packed targets
  std::optional<store::ListColumn> num_drawn_;  // set only for sampled targets
  std::optional<store::ListColumn> counts_;     // set only for sampled targets that are not packed
  std::optional<store::ListColumn> ids_;        // ids of tokens; for packed draws, ids and counts
  std::vector<StoredPlace> places_;
};

/// Returns the loss of `settings` for stored targets with the facts `facts`. For sampled targets,
/// the loss is the cross-entropy, which the sampled tokens estimate without bias.
lm::Distillation stored_distillation(const DistillSettings& settings, const TeacherFacts& facts);

}  // namespace mgpu::recipes
