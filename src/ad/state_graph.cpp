#include "state_graph.hpp"

#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

constexpr std::uint16_t kFar = 65535;  // more than the 255 moves of the longest path

[[noreturn]] void refuse(const Environment& environment, const std::string& why) {
  throw Failure({.code = "E132",
                 .exit = ExitCode::config,
                 .sentence = "the source cannot play `" + environment.name() + "`: " + why,
                 .lines = {},
                 .help = "choose another data.source"});
}

}  // namespace

StateGraph::StateGraph(const Environment& environment)
    : num_states_(static_cast<std::size_t>(environment.num_states())),
      num_actions_(static_cast<std::uint32_t>(environment.num_actions())),
      horizon_(static_cast<std::size_t>(environment.horizon())),
      start_(static_cast<std::uint8_t>(environment.start_state())),
      moves_(num_states_ * num_actions_),
      distance_(num_states_ * num_states_, kFar),
      paths_(num_states_ * num_states_),
      rewards_(static_cast<std::size_t>(environment.num_tasks()) * num_states_) {
  read_moves(environment);
  read_rewards(environment);
  for (std::size_t target = 0; target < num_states_; ++target) {
    measure(target, environment);
    find_paths(target);
  }
}

void StateGraph::read_moves(const Environment& environment) {
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    const auto state = static_cast<int>(i / num_actions_);
    const auto action = static_cast<int>(i % num_actions_);
    const int next = environment.step(0, state, action).next_state;
    moves_[i] = {static_cast<std::uint8_t>(action), static_cast<std::uint8_t>(next)};
    for (int task = 1; task < environment.num_tasks(); ++task)
      if (environment.step(task, state, action).next_state != next)
        refuse(environment, "its moves depend on the task");
  }
}

void StateGraph::read_rewards(const Environment& environment) {
  std::vector<bool> known(rewards_.size(), false);
  for (int task = 0; task < environment.num_tasks(); ++task) {
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const auto [next, reward] = environment.step(task, static_cast<int>(i / num_actions_),
                                                   static_cast<int>(i % num_actions_));
      const std::size_t at =
          static_cast<std::size_t>(task) * num_states_ + static_cast<std::size_t>(next);
      if (known[at] && rewards_[at] != reward)
        refuse(environment, "its rewards depend on more than the state reached");
      known[at] = true;
      rewards_[at] = static_cast<std::uint8_t>(reward);
    }
  }
}

/// Computes the distances from all states to `target`, in moves. Relaxes all edges until no
/// distance changes. This simple method is fast enough, because graphs are small and measure() runs
/// only once for each target.
void StateGraph::measure(std::size_t target, const Environment& environment) {
  std::uint16_t* distance = &distance_[target * num_states_];
  distance[target] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const std::uint16_t beyond = distance[moves_[i].next_state];
      std::uint16_t& here = distance[i / num_actions_];
      if (beyond == kFar || here <= beyond + 1) continue;
      here = static_cast<std::uint16_t>(beyond + 1);
      changed = true;
    }
  }
  for (std::size_t from = 0; from < num_states_; ++from)
    if (distance[from] == kFar) refuse(environment, "some state is out of reach");
}

void StateGraph::find_paths(std::size_t target) {
  const std::uint16_t* distance = &distance_[target * num_states_];
  for (std::size_t from = 0; from < num_states_; ++from) {
    Move& path = paths_[target * num_states_ + from];
    path = moves(from)[0];
    for (std::uint32_t a = num_actions_; a-- > 0;) {
      const Move move = moves(from)[a];
      if (distance[move.next_state] + 1 == distance[from]) path = move;
      if (from == target && move.next_state == target) {
        path = move;
        break;
      }
    }
  }
}

}  // namespace mgpu::ad
