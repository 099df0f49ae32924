#include <algorithm>

#include <mgpu/ad/rollout_memory.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {

RolloutMemory::RolloutMemory(const TokenWriter& writer, WindowRules rules, Controls controls)
    : writer_(&writer), rules_(rules), controls_(controls) {
  past_.reserve(static_cast<std::size_t>(rules.memory()) + 1);
}

void RolloutMemory::begin_episode(int start_state) {
  if (steps_left_ != 0) throw Error("an episode begins before the last one ended");
  if (controls_.clear_context) forget(past_.size());
  const auto room = static_cast<std::size_t>(rules_.memory());
  const auto horizon = static_cast<std::size_t>(rules_.horizon);
  if (rules_.kind == TokenKind::step && past_.size() + horizon > room) forget(horizon);
  state_ = static_cast<std::uint8_t>(start_state);
  steps_left_ = rules_.horizon;
}

void RolloutMemory::record(int action, int reward, int landing) {
  if (steps_left_ == 0) throw Error("a step is recorded outside of an episode");
  const auto landed = static_cast<std::uint8_t>(landing);
  past_.push_back({state_, static_cast<std::uint8_t>(action),
                   static_cast<std::uint8_t>(controls_.hide_rewards ? 0 : reward), landed});
  continues_ = true;
  if (past_.size() > static_cast<std::size_t>(rules_.memory())) forget(1);
  state_ = landed;
  --steps_left_;
}

void RolloutMemory::forget(std::size_t oldest) {
  past_.erase(past_.begin(), past_.begin() + static_cast<std::ptrdiff_t>(oldest));
  continues_ = false;
}

void RolloutMemory::require(TokenKind kind) const {
  if (rules_.kind != kind) throw Error("this memory has the other kind of tokens");
  if (steps_left_ == 0) throw Error("there is no step to act in");
}

void RolloutMemory::write(const StepBatch& out, std::size_t row) const {
  require(TokenKind::step);
  const std::size_t first = row * static_cast<std::size_t>(rules_.tokens);
  for (std::size_t i = 0; i < past_.size(); ++i)
    writer_->write(out, first + i, past_[i].state, i == 0 ? nullptr : &past_[i - 1]);
  write_last(out, first + past_.size());
}

void RolloutMemory::write_last(const StepBatch& out, std::size_t at) const {
  require(TokenKind::step);
  writer_->write(out, at, state_, past_.empty() ? nullptr : &past_.back());
}

void RolloutMemory::write(const TransitionBatch& out, std::size_t row) const {
  require(TokenKind::transition);
  const auto most = static_cast<std::size_t>(rules_.memory());
  const std::size_t width = writer_->num_features();
  float* const features = out.features + row * most * width;
  for (std::size_t i = 0; i < past_.size(); ++i)
    writer_->write(features + i * width, past_[i]);
  std::fill(features + past_.size() * width, features + most * width, 0.0F);
  out.length[row] = static_cast<std::int32_t>(past_.size());
  out.query[row] = state_;
}

}  // namespace mgpu::ad
