#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/source.hpp>
#include <mgpu/base/random_streams.hpp>

namespace mgpu::ad {
namespace {

constexpr std::size_t kHorizon = 20;

/// Does the same as src/ad/sources/explorer.cpp in Darkroom, by plain code.
class PlainExplorer {
public:
  PlainExplorer(const Environment& room, int task, double epsilon) : room_(room), task_(task) {
    random_below_ = epsilon * 0x1p32;
    for (int cell = 0; cell < room.num_states(); ++cell)
      unseen_.insert(cell);
    unseen_.erase(room.start_state());
  }

  std::vector<std::uint8_t> actions(const RandomStream& stream, int episodes) {
    std::vector<std::uint8_t> taken;
    for (int episode = 0; episode < episodes; ++episode) {
      int cell = room_.start_state();
      for (std::size_t i = 0; i < kHorizon; ++i) {
        const int action = choose(cell, stream.bits(taken.size()));
        const auto [next, reward] = room_.step(task_, cell, action);
        taken.push_back(static_cast<std::uint8_t>(action));
        cell = next;
        unseen_.erase(cell);
        if (reward != 0) found_ = true;
      }
    }
    return taken;
  }

private:
  int choose(int cell, std::uint32_t word) const {
    const auto pick = [&](std::size_t n) { return ((word & 0xffff) * n) >> 16; };
    if (word < random_below_) return static_cast<int>(pick(5));
    if (found_) return towards(cell, task_);
    if (unseen_.empty()) return towards(cell, room_.start_state());
    std::vector<int> nearest;
    for (const int other : unseen_) {
      if (!nearest.empty() && distance(cell, other) < distance(cell, nearest[0])) nearest.clear();
      if (nearest.empty() || distance(cell, other) == distance(cell, nearest[0]))
        nearest.push_back(other);
    }
    return towards(cell, nearest[pick(nearest.size())]);
  }

  int distance(int a, int b) const {
    return std::abs(room_.point(a).x - room_.point(b).x) +
           std::abs(room_.point(a).y - room_.point(b).y);
  }

  int towards(int from, int to) const {
    const Point p = room_.point(from);
    const Point q = room_.point(to);
    if (p.x != q.x) return p.x < q.x ? 0 : 1;
    if (p.y != q.y) return p.y < q.y ? 2 : 3;
    return 4;
  }

  const Environment& room_;
  int task_;
  double random_below_ = 0.0;
  std::set<int> unseen_;
  bool found_ = false;
};

TEST(ExplorerTest, DoesWhatThePlainOneDoes) {
  const auto room = make_environment("darkroom", 0);
  for (const double epsilon : {0.0, 0.05, 0.5}) {
    const SourceOptions options{.epsilon = epsilon, .seed = 11, .round = 2};
    const auto source = make_source("explorer", *room, options);
    for (int task = 0; task < room->num_tasks(); ++task) {
      const std::uint64_t id = 1000 + static_cast<std::uint64_t>(task);
      const RandomStream stream(options.seed, Purpose::source, options.round, id);
      std::vector<std::uint8_t> action(9 * kHorizon);
      std::vector<std::uint8_t> reward(action.size());
      std::vector<std::uint8_t> landing(action.size());

      source->play(id, {task, 0, action, reward, landing});

      ASSERT_EQ(action, PlainExplorer(*room, task, epsilon).actions(stream, 9))
          << "goal " << task << ", epsilon " << epsilon;
    }
  }
}

}  // namespace
}  // namespace mgpu::ad
