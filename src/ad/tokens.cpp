#include <algorithm>
#include <string>
#include <utility>

#include <mgpu/ad/tokens.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

[[noreturn]] void refuse(std::string sentence, std::string help) {
  throw Failure({.code = "E131",
                 .exit = ExitCode::config,
                 .sentence = std::move(sentence),
                 .lines = {},
                 .help = std::move(help)});
}

}  // namespace

WindowRules make_window_rules(TokenKind kind, int n_transit, const HistoryShape& histories) {
  const int horizon = histories.horizon;
  const int tokens = std::min(n_transit, static_cast<int>(histories.steps()));
  if (kind == TokenKind::transition) {
    if (tokens < 2)
      refuse("a context of " + std::to_string(tokens) +
                 " has no room for a transition before the query",
             "model.n_transit=2 is the least");
    return {kind, tokens, horizon};
  }
  if (tokens < 2 * horizon)
    refuse("a context of " + std::to_string(tokens) + " steps shows less than two episodes of " +
               std::to_string(horizon) + ", so nothing can be learned from one to the next",
           "model.n_transit=" + std::to_string(2 * horizon) + " and data.episodes=2 are the least");
  return {kind, tokens / horizon * horizon, horizon};
}

TokenWriter::TokenWriter(const Environment& environment) : num_actions_(environment.num_actions()) {
  for (int state = 0; state < environment.num_states(); ++state)
    points_.push_back(environment.point(state));
}

void TokenWriter::write(const StepBatch& out, std::size_t at, std::uint8_t state,
                        const Transition* previous) const {
  if (previous != nullptr && previous->reward >= kStepRewards)
    refuse("the environment gives a reward of " + std::to_string(previous->reward) +
               ", and tokens of steps know the rewards 0, 1 and 2 only",
           "model.tokens=transition");
  const Point here = points_[state];
  const Point landing = previous == nullptr ? here : points_[previous->landing];
  out.x[at] = here.x;
  out.y[at] = here.y;
  out.previous_action[at] = previous == nullptr ? num_actions_ : previous->action;
  out.previous_reward[at] = previous == nullptr ? 0 : previous->reward;
  out.landing_x[at] = landing.x;
  out.landing_y[at] = landing.y;
}

void TokenWriter::write(float* features, const Transition& transition) const {
  const Point from = points_[transition.state];
  const Point to = points_[transition.landing];
  *features++ = static_cast<float>(from.x);
  *features++ = static_cast<float>(from.y);
  std::fill_n(features, num_actions_, 0.0F);
  features[transition.action] = 1.0F;
  features += num_actions_;
  *features++ = static_cast<float>(transition.reward);
  *features++ = static_cast<float>(to.x);
  *features++ = static_cast<float>(to.y);
}

}  // namespace mgpu::ad
