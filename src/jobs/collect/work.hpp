#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/lm/decode/realignment.hpp>
#include <mgpu/run/row_phase.hpp>

#include "inputs.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// Samples solutions of the questions of a chunk and makes their trees, with the model of one group
/// of ranks.
class CollectWorker final : public run::RowWorker<Question, CollectedQuestion> {
public:
  /// Keeps references to all arguments, which must outlive this object. `realignment` must not be
  /// nullptr if agents think in latent steps.
  CollectWorker(const CollectInputs& inputs, QuestionEncoder& encoder, const lm::ModelGroup& group,
                const lm::Realignment* realignment);

  std::vector<Question> encode(std::int64_t first, std::int64_t count) override;
  std::vector<CollectedQuestion> work(std::span<const Question> questions,
                                      std::int64_t first) override;
  std::pair<Question, CollectedQuestion> left_out(const std::string& reason) override;
  run::RowTokens tokens(const Question& question,
                        const CollectedQuestion& collected) const override;
  bool records() const override { return group_.is_leader(); }
  std::vector<std::byte> pack(std::int64_t first, std::span<const Question> questions,
                              std::span<const CollectedQuestion> collected) override;
  std::int64_t batch_size() const override { return collector_->batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { collector_->set_batch_size(batch_size); }
  void set_progress(const std::function<void(std::int64_t)>& see) override {
    collector_->set_progress(see);
  }

private:
  const CollectInputs& inputs_;
  QuestionEncoder& encoder_;
  const lm::ModelGroup& group_;
  std::unique_ptr<QuestionCollector> collector_;
};

}  // namespace mgpu::jobs
