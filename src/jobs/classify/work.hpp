#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/store/results/table.hpp>

#include "inputs.hpp"
#include "label_scorer.hpp"
#include "latency_file.hpp"

namespace mgpu::jobs {

/// Gives labels to the texts of a chunk, with the model of one group of ranks.
class ClassifyWorker final : public run::RowWorker<ClassifySample, GivenLabel> {
public:
  /// Keeps references to `inputs` and `group`, which must outlive this object.
  ClassifyWorker(const run::RunContext& run, const ClassifyInputs& inputs,
                 const lm::ModelGroup& group, std::int64_t batch_size);

  std::vector<ClassifySample> encode(std::int64_t first, std::int64_t count) override;
  std::vector<GivenLabel> work(std::span<const ClassifySample> samples,
                               std::int64_t first) override;
  std::pair<ClassifySample, GivenLabel> left_out(const std::string& reason) override;
  run::RowTokens tokens(const ClassifySample& sample, const GivenLabel& label) const override;
  bool records() const override { return group_.is_leader(); }
  std::vector<std::byte> pack(std::int64_t first, std::span<const ClassifySample> samples,
                              std::span<const GivenLabel> labels) override;
  std::int64_t batch_size() const override { return labels_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { labels_.set_batch_size(batch_size); }
  void set_progress(const std::function<void(std::int64_t)>& see) override {
    labels_.set_progress(see);
  }
  void finished(const run::Chunk& chunk, double seconds) override;

private:
  const ClassifyInputs& inputs_;
  const lm::ModelGroup& group_;
  ClassifyEncoder encoder_;
  LabelScorer labels_;
  std::optional<LatencyFile> latency_;  // only on the leader of the group
};

}  // namespace mgpu::jobs
