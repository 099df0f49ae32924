#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/base/half_float.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "keys.hpp"

// Shapes in this header: T = tokens of a sample, K = teacher.top_k, or the size of the vocabulary
// if it is smaller.
namespace mgpu::jobs {

/// The teacher's predictions at each token of one sample, as table `samples` stores them. A student
/// is trained on these targets.
struct TokenTargets {
  std::vector<float> log_sums;  // [T] logsumexp(logits / teacher.temperature), nats

  // The next three members have values only with teacher.targets=topk.
  std::vector<std::uint32_t> ids;  // [T, K] most probable first, ties by ascending id
  std::vector<Half> log_probs;     // [T, K] nats
  std::vector<float> tail_mass;    // [T] probability of all tokens that are not in `ids`

  // The next three members have values only with teacher.targets=random_sampling. The ids and
  // counts of all tokens of the text are concatenated.
  std::vector<std::uint8_t> num_drawn;   // [T] number of different tokens that were sampled
  std::vector<std::uint32_t> drawn_ids;  // sampled tokens, ascending for each token of the text
  /// The number of times that each token in `drawn_ids` was drawn. At each position of the text,
  /// the counts of its drawn tokens add up to teacher.num_draws.
  std::vector<std::uint8_t> drawn_counts;
};

/// Runs texts through a model, and returns the targets: the predictions that the keys teacher.*
/// select.
class TeacherModel {
public:
  /// Keeps a reference to `model`, which must outlive this object.
  TeacherModel(const lm::LanguageModel& model, const TeacherConfig& config,
               std::int64_t batch_size);
  TeacherModel(const TeacherModel&) = delete;
  TeacherModel& operator=(const TeacherModel&) = delete;

  /// Returns the targets of each text. Text i is the sample with id `first` + i. On the CPU the
  /// targets of a text depend only on the text and its sample id. A text without tokens gets empty
  /// targets.
  ///
  /// Ranks:  collective over the model's group; only the rank for which returns_targets() is true
  ///         gets targets.
  /// Errors: those of Generator::run(); Failure E704 when logits are not finite.
  std::vector<TokenTargets> run(std::span<const std::vector<std::int64_t>> texts,
                                std::int64_t first);

  /// Returns whether run() returns targets on this rank. This is so on one rank of each group.
  bool returns_targets() const;

  std::int64_t batch_size() const { return generator_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) { generator_.set_batch_size(batch_size); }
  void set_progress(const lm::SeeProgress& see) { generator_.set_progress(see); }

private:
  void see(std::span<const lm::PromptPiece> pieces, const at::Tensor& hidden);
  void keep_best(std::span<const lm::PromptPiece> pieces, const at::Tensor& hidden);
  void keep_draws(std::span<const lm::PromptPiece> pieces, const at::Tensor& hidden);
  at::Tensor uniforms_for(std::span<const lm::PromptPiece> pieces) const;

  const lm::LanguageModel& model_;
  TeacherConfig config_;
  lm::Generator generator_;
  std::vector<std::uint64_t> samples_;  // sample ids of the texts in the current run()
  std::vector<TokenTargets> targets_;   // targets of the texts in the current run()
};

}  // namespace mgpu::jobs
