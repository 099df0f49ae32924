// Compares latent steps on groups of ranks with those on one rank.
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/latent_session.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "made_folder.hpp"

namespace mgpu::lm {
namespace {

using Ids = std::vector<std::int64_t>;

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

ModelGroup open_group(const fs::path& folder, Split split) {
  static const cluster::Topology topology(world(), world().size());
  ModelGroup::Options options;
  options.plan.split = split;
  options.communicator.timeout_s = 60.0;
  return ModelGroup::open(folder, topology, options);
}

Ids make_ids(std::size_t count, std::int64_t seed) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i)
    ids[i] = (static_cast<std::int64_t>(i) * 1301 + seed * 2909 + 3) % 9000;
  return ids;
}

/// The realignment, the states of three paths, and the answers of copies that keep only the latent
/// steps of these paths. The last answer follows the mean keys and values of all paths.
struct Walk {
  at::Tensor matrix;  // [D, D]
  double mean_norm = 0.0;
  at::Tensor states{};     // [3, 4, D]
  at::Tensor entropies{};  // [12]
  std::vector<Ids> answers{};
};

Walk walk_of(const LanguageModel& model) {
  const Realignment realignment = Realignment::solve(model);
  Walk walk{realignment.matrix(), realignment.mean_norm()};
  LatentSession latents(
      model, realignment,
      {.sampling = {.is_greedy = false, .top_k = 20, .seed = 9}, .prefill_tokens = 5});
  walk.answers.assign(4, {});
  latents.run({128, 4, 16}, [&](DecodeSession& session) {
    const std::int64_t origin = session.add();
    session.prefill(origin, make_ids(13, 1));
    latents.read_input();
    std::vector<std::int64_t> paths;
    for (std::uint64_t p = 0; p < 3; ++p)
      paths.push_back(session.fork(origin, p));
    session.drop(origin);
    walk.states = latents.think(paths, 4, [](std::int64_t, const at::Tensor& states) {
      states.mul_(at::tensor({1.0F, 0.9F, 1.2F}).unsqueeze(1));
    });
    walk.entropies = latents.entropies(walk.states.flatten(0, 1));
    const std::int64_t mean = session.add_mean(paths, 7);
    session.prefill(mean, make_ids(6, 2));
    for (std::int64_t& path : paths) {
      const Range latent{13, 17};
      const std::int64_t copy =
          session.fork_tokens(path, {&latent, 1}, static_cast<std::uint64_t>(path));
      session.drop(path);
      path = copy;
      session.prefill(path, make_ids(6, 2));
    }
    paths.push_back(mean);
    latents.read_input();
    latents.complete(paths, 5, [&](std::size_t index, Completion completion) {
      walk.answers[index] = completion.ids;
    });
  });
  return walk;
}

void expect_walk(const Walk& ours, const Walk& theirs, double tolerance) {
  EXPECT_LE((ours.matrix - theirs.matrix).abs().max().item<double>(), tolerance);
  EXPECT_NEAR(ours.mean_norm, theirs.mean_norm, tolerance);
  EXPECT_LE((ours.states - theirs.states).abs().max().item<double>(), tolerance);
  EXPECT_LE((ours.entropies - theirs.entropies).abs().max().item<double>(), tolerance);
  EXPECT_EQ(ours.answers, theirs.answers);
}

TEST(LatentSessionTest, AGroupThinksLikeOneRank) {
  // The vocabulary has three blocks.
  const MadeFolder folder(world(), {.layers = 4, .kv_heads = 6, .vocab = 9000});
  const Walk expected = walk_of(LanguageModel::open(folder.path()));

  expect_walk(walk_of(open_group(folder.path(), Split::pipeline).model()), expected, 0.0);
  expect_walk(walk_of(open_group(folder.path(), Split::tensor).model()), expected, 1e-4);
}

}  // namespace
}  // namespace mgpu::lm
