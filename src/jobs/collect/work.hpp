#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/run/row_phase.hpp>

#include "collector.hpp"
#include "inputs.hpp"

namespace mgpu::jobs {

/// Collects the questions of a chunk, with the model of one group of ranks.
class CollectWorker final : public run::RowWorker<rows::EncodedPrompt, CollectedQuestion> {
public:
  /// Keeps references to all arguments, which must outlive this object.
  CollectWorker(const CollectInputs& inputs, rows::PromptEncoder& encoder,
                const lm::ModelGroup& group);

  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count) override;
  std::vector<CollectedQuestion> work(std::span<const rows::EncodedPrompt> questions,
                                      std::int64_t first) override;
  std::pair<rows::EncodedPrompt, CollectedQuestion> left_out(const std::string& reason) override;
  run::RowTokens tokens(const rows::EncodedPrompt& question,
                        const CollectedQuestion& collected) const override;
  bool records() const override { return group_.is_leader(); }
  std::vector<std::byte> pack(std::int64_t first, std::span<const rows::EncodedPrompt> questions,
                              std::span<const CollectedQuestion> collected) override;
  std::int64_t batch_size() const override { return collector_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { collector_.set_batch_size(batch_size); }
  void set_progress(const std::function<void(std::int64_t)>& see) override {
    collector_.set_progress(see);
  }

private:
  const CollectInputs& inputs_;
  rows::PromptEncoder& encoder_;
  const lm::ModelGroup& group_;
  Collector collector_;
};

}  // namespace mgpu::jobs
