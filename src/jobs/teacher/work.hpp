#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/store/results/table.hpp>

#include "inputs.hpp"
#include "targets.hpp"

namespace mgpu::jobs {

/// Computes the targets of the samples of a chunk, with the model of one group of ranks.
class TeacherWorker final : public run::RowWorker<TeacherSample, TokenTargets> {
public:
  /// Keeps references to `inputs` and `group`, which must outlive this object.
  TeacherWorker(const TeacherInputs& inputs, lm::ModelGroup& group, std::int64_t batch_size);

  std::vector<TeacherSample> encode(std::int64_t first, std::int64_t count) override;
  std::vector<TokenTargets> work(std::span<const TeacherSample> samples,
                                 std::int64_t first) override;
  std::pair<TeacherSample, TokenTargets> left_out(const std::string& reason) override;
  run::RowTokens tokens(const TeacherSample& sample, const TokenTargets& targets) const override;
  bool records() const override { return teacher_.returns_targets(); }
  std::vector<std::byte> pack(std::int64_t first, std::span<const TeacherSample> samples,
                              std::span<const TokenTargets> targets) override;
  std::int64_t batch_size() const override { return teacher_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { teacher_.set_batch_size(batch_size); }
  void set_progress(const std::function<void(std::int64_t)>& see) override {
    teacher_.set_progress(see);
  }

  /// Returns the seconds that this rank spent waiting for other ranks of its group.
  double waiting_s() const { return waiting_s_; }

private:
  const TeacherInputs& inputs_;
  lm::ModelGroup& group_;
  TeacherEncoder encoder_;
  TeacherModel teacher_;
  double waiting_s_ = 0.0;
};

}  // namespace mgpu::jobs
