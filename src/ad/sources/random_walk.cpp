#include "search_then_exploit.hpp"

namespace mgpu::ad {
namespace {

/// A search by uniformly random actions.
class RandomWalk {
public:
  struct Tables {
    explicit Tables(const StateGraph&) {}
  };

  RandomWalk(const StateGraph& graph, const Tables&) : graph_(graph) {}

  Move choose(std::uint8_t state, std::uint32_t word) const {
    return graph_.moves(state)[pick(word, graph_.num_actions())];
  }
  void land(std::uint8_t) const {}

private:
  const StateGraph& graph_;
};

}  // namespace

std::unique_ptr<Source> make_random_walk(const Environment& environment,
                                         const SourceOptions& options) {
  return std::make_unique<SearchThenExploit<RandomWalk>>(environment, options);
}

}  // namespace mgpu::ad
