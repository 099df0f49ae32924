#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// The content of a small training, whose tensors and state are functions of the step.
class TinyTraining {
public:
  explicit TinyTraining(std::int64_t step = 0) : step_(step) {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] = static_cast<float>(step) + static_cast<float>(i) / 16.0F;
    for (std::size_t i = 0; i < moments_.size(); ++i)
      moments_[i] = -static_cast<double>(step) * static_cast<double>(i);
    counter_ = static_cast<std::uint64_t>(step);
  }
  TinyTraining(const TinyTraining&) = delete;
  TinyTraining& operator=(const TinyTraining&) = delete;

  std::vector<formats::NamedTensor> model() {
    return {{"blocks.0.w", {2, 3}, {weights_.data(), 6, DType::f32, {}}},
            {"bias", {2}, {weights_.data() + 6, 2, DType::f32, {}}}};
  }
  std::vector<formats::NamedTensor> trainer() {
    return {{"blocks.0.w.exp_avg", {2, 3}, {moments_.data(), 6, DType::f64, {}}},
            {"counter", {}, {&counter_, 1, DType::u64, {}}}};
  }
  CheckpointState state() const {
    return {step_,
            step_ * 512,
            static_cast<double>(step_) / 3.0,
            {{"loss", 1.0 / static_cast<double>(step_ + 1)},
             {"epoch", std::int64_t{1}},
             {"note", std::string("step ") + std::to_string(step_)}}};
  }

  /// Returns whether every tensor has its value at `step`.
  bool is_at(std::int64_t step) const {
    const TinyTraining expected(step);
    return weights_ == expected.weights_ && moments_ == expected.moments_ &&
           counter_ == expected.counter_;
  }

private:
  std::int64_t step_;
  std::vector<float> weights_ = std::vector<float>(8);
  std::vector<double> moments_ = std::vector<double>(6);
  std::uint64_t counter_ = 0;
};

}  // namespace mgpu::store
