#include "latent_collector.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "agent_answers.hpp"
#include "latent_noise.hpp"

namespace mgpu::jobs {
namespace {

lm::DecodeConfig decode_config(const lm::GenerationConfig& generation) {
  return {generation.sampling, generation.prefill_tokens, generation.stop_ids};
}

std::int64_t pages_of(std::int64_t tokens, std::int64_t page_tokens) {
  return (tokens + page_tokens - 1) / page_tokens;
}

}  // namespace

LatentCollector::LatentCollector(const lm::LanguageModel& model, const lm::Realignment& realignment,
                                 const QuestionEncoder& encoder, const CollectInputs& inputs)
    : encoder_(encoder),
      inputs_(inputs),
      judge_(inputs.keys.rows, encoder),
      latents_(model, realignment, decode_config(inputs.generation)),
      batch_size_(inputs.generation.batch_size),
      width_(model.config().hidden_size) {}

std::int64_t LatentCollector::index_of(const Growing& tree) const {
  return inputs_.question_of(first_ + static_cast<std::int64_t>(tree.question));
}

std::uint64_t LatentCollector::stream_of(const Growing& tree, std::size_t agent,
                                         const Path& path) const {
  return stream_of_agent(index_of(tree), static_cast<std::int64_t>(agent),
                         tree.nodes[static_cast<std::size_t>(path.node)].path);
}

std::vector<CollectedQuestion> LatentCollector::run(std::span<const Question> questions,
                                                    std::int64_t first) {
  questions_ = questions;
  first_ = first;
  finished_ = 0;
  std::vector<CollectedQuestion> collected(questions.size());
  std::vector<std::size_t> places;
  for (std::size_t q = 0; q < questions.size(); ++q)
    if (questions[q].facts.status == rows::RowStatus::ok) places.push_back(q);
  const auto at_once =
      static_cast<std::size_t>(std::max<std::int64_t>(1, batch_size_ / inputs_.keys.num_paths));
  for (std::size_t begin = 0; begin < places.size(); begin += at_once) {
    const auto some = std::span<const std::size_t>(places).subspan(
        begin, std::min(at_once, places.size() - begin));
    latents_.run(sizes_for(some), [&](lm::DecodeSession& session) {
      session_ = &session;
      work_on(some, collected);
    });
  }
  return collected;
}

/// Returns the sizes of the KV cache for all paths of the questions whose indices in run() are
/// `places`.
lm::PagedCache::Sizes LatentCollector::sizes_for(std::span<const std::size_t> places) const {
  const lm::GenerationConfig& generation = inputs_.generation;
  std::int64_t all = 0;
  std::int64_t longest = 0;
  for (const std::size_t place : places) {
    all += inputs_.tokens_of(questions_[place]).pages;
    longest = std::max(longest, questions_[place].longest + inputs_.keys.max_new_tokens);
  }
  return {all, generation.page_tokens, pages_of(longest, generation.page_tokens),
          generation.cache_type};
}

void LatentCollector::work_on(std::span<const std::size_t> places,
                              std::vector<CollectedQuestion>& collected) {
  std::vector<Growing> trees;
  for (const std::size_t place : places) {
    trees.push_back({place});
    trees.back().nodes.emplace_back();  // the question
    trees.back().paths.push_back({0, session_->add()});
  }
  for (std::size_t agent = 0; agent < inputs_.agents.size(); ++agent) {
    for (Growing& tree : trees)
      if (agent > 0) choose_parents(tree, agent);
    prompt(trees, agent);
    for (Growing& tree : trees)
      branch(tree, agent);
    if (is_last(agent)) break;
    think(trees, agent);
    if (agent == kMergingAgent && inputs_.keys.agents.merge_similarity)
      for (Growing& tree : trees)
        merge(tree);
  }
  answer(trees, collected);
}

/// Keeps the paths that `agent` continues, and drops the others. Afterwards, the kept paths have
/// only the attention keys and values that `agent` gets according to collect.agents.carry.
void LatentCollector::choose_parents(Growing& tree, std::size_t agent) {
  const AgentKeys& keys = inputs_.keys.agents;
  const std::size_t thinkers = inputs_.agents.size() - 1;
  std::vector<std::size_t> kept = by_score(tree.scores);
  if (keys.prunes && agent == thinkers) {
    kept.resize(1);
  } else if (keys.prunes) {
    kept = prune(tree.scores, static_cast<double>(agent - 1) / static_cast<double>(thinkers - 1));
  }
  if (!is_last(agent))
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(keys.num_parents)));
  std::vector<Path> parents;
  for (const std::size_t path : kept)
    parents.push_back(std::move(tree.paths[path]));
  for (std::size_t path = 0; path < tree.paths.size(); ++path)
    if (std::ranges::find(kept, path) == kept.end()) session_->drop(tree.paths[path].sequence);
  if (keys.carry != Carry::all)
    for (Path& parent : parents)
      parent = carried(parent);
  tree.paths = std::move(parents);
}

/// Returns a copy of a path with only the tokens that the next agent gets according to
/// collect.agents.carry, which must not be `all`. Drops the sequence of `path`.
LatentCollector::Path LatentCollector::carried(const Path& path) {
  std::vector<lm::Range> tokens = path.latents;
  if (inputs_.keys.agents.carry == Carry::last_agent)
    tokens = {{path.own_first, session_->length(path.sequence)}};
  Path copy{path.node, session_->fork_tokens(path.sequence, tokens, 0)};
  copy.latents = {{0, session_->length(copy.sequence)}};
  session_->drop(path.sequence);
  return copy;
}

/// Runs the prompt of an agent through the model, once for each path that the agent continues.
void LatentCollector::prompt(std::vector<Growing>& trees, std::size_t agent) {
  for (Growing& tree : trees)
    for (Path& path : tree.paths) {
      path.own_first = session_->length(path.sequence);
      session_->prefill(path.sequence, questions_[tree.question].agents[agent].before);
    }
  latents_.read_input();
}

/// Returns the number of paths that `agent` should make in all. Each of them is called a child of
/// the current path that it continues. The sum of shares_of() may be smaller, because
/// collect.latent.branch_entropy may allow each current path only one child.
std::int64_t LatentCollector::children_of(const Growing& tree, std::size_t agent) const {
  const bool has_noise = inputs_.keys.agents.diversity != Diversity::none;
  if (is_last(agent))
    return has_noise && agent > 0 ? std::ssize(tree.paths) : inputs_.keys.num_paths;
  return has_noise ? inputs_.keys.num_paths : 1;
}

/// Returns the number of children of each current path. With collect.latent.branch_entropy, an
/// agent between the first and the judger makes several children only of paths whose mean entropy
/// is above the value of that key.
std::vector<std::int64_t> LatentCollector::shares_of(const Growing& tree, std::size_t agent) const {
  const std::optional<double> limit = inputs_.keys.agents.branch_entropy;
  std::vector<bool> is_divided(tree.paths.size(), true);
  if (limit && agent > 0 && !is_last(agent))
    for (std::size_t p = 0; p < tree.paths.size(); ++p)
      is_divided[p] = tree.nodes[static_cast<std::size_t>(tree.paths[p].node)].entropy > *limit;
  return share_children(children_of(tree, agent), is_divided);
}

/// Replaces each path by its children, the paths with which `agent` continues it.
void LatentCollector::branch(Growing& tree, std::size_t agent) {
  const std::vector<std::int64_t> shares = shares_of(tree, agent);
  std::vector<Path> all;
  for (std::size_t p = 0; p < tree.paths.size(); ++p) {
    const Path& parent = tree.paths[p];
    for (std::int64_t c = 0; c < shares[p]; ++c) {
      const auto number = static_cast<std::int32_t>(all.size());
      const auto node = static_cast<std::int32_t>(tree.nodes.size());
      AgentNode fresh;
      fresh.agent = static_cast<std::int32_t>(agent);
      fresh.path = number;
      fresh.parent = parent.node;
      fresh.score = tree.nodes[static_cast<std::size_t>(parent.node)].score;
      tree.nodes.push_back(std::move(fresh));
      Path child{node, 0, parent.own_first, parent.latents};
      child.sequence = session_->fork(parent.sequence, stream_of(tree, agent, child));
      all.push_back(std::move(child));
    }
    session_->drop(parent.sequence);
  }
  tree.paths = std::move(all);
}

/// Makes the latent steps of the paths of all trees in one batch, and scores the paths.
void LatentCollector::think(std::vector<Growing>& trees, std::size_t agent) {
  const AgentKeys& keys = inputs_.keys.agents;
  std::vector<std::int64_t> sequences;
  std::vector<LatentNoise> noise;
  for (Growing& tree : trees)
    for (Path& path : tree.paths) {
      const std::int64_t length = session_->length(path.sequence);
      path.latents.push_back({length, length + keys.steps});
      sequences.push_back(path.sequence);
      noise.emplace_back(keys, inputs_.keys.run.seed, stream_of(tree, agent, path));
    }
  const auto change = [&](std::int64_t step, const at::Tensor& states) {
    float* row = states.mutable_data_ptr<float>();
    for (const LatentNoise& of_path : noise) {
      of_path.add(step, {row, static_cast<std::size_t>(width_)});
      row += width_;
    }
  };
  // [paths, latent steps, hidden size]
  const at::Tensor states = latents_.think(sequences, keys.steps, change);
  const float* next = states.const_data_ptr<float>();
  for (Growing& tree : trees) {
    keep_states(tree, next);
    next += std::ssize(tree.paths) * keys.steps * width_;
  }
  if (keys.branch_entropy) keep_entropies(trees, states);
}

/// Stores the mean entropy of the latent steps of each path in the node of the path. `states` has
/// the states of all paths of all trees, [paths, latent steps, hidden size].
void LatentCollector::keep_entropies(std::vector<Growing>& trees, const at::Tensor& states) {
  const std::int64_t steps = states.size(1);
  const at::Tensor entropies = latents_.entropies(states.flatten(0, 1));
  const double* next = entropies.const_data_ptr<double>();
  for (Growing& tree : trees)
    for (const Path& path : tree.paths) {
      const double sum = std::accumulate(next, next + steps, 0.0);
      tree.nodes[static_cast<std::size_t>(path.node)].entropy = sum / static_cast<double>(steps);
      next += steps;
    }
}

/// Merges similar paths of a question. merge_targets() chooses the path that remains of each set of
/// similar paths. The attention keys and values of this path become the means over the set.
void LatentCollector::merge(Growing& tree) {
  std::vector<const std::vector<float>*> states;
  for (const Path& path : tree.paths)
    states.push_back(&tree.nodes[static_cast<std::size_t>(path.node)].latents);
  const std::vector<std::size_t> targets =
      merge_targets(states, width_, tree.scores, *inputs_.keys.agents.merge_similarity);
  std::vector<Path> paths;
  std::vector<PathScore> scores;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    std::vector<std::int64_t> origins;
    for (std::size_t p = 0; p < targets.size(); ++p) {
      if (targets[p] != target) continue;
      origins.push_back(tree.paths[p].sequence);
      if (p != target)
        tree.nodes[static_cast<std::size_t>(tree.paths[p].node)].target = tree.paths[target].node;
    }
    if (origins.empty()) continue;
    paths.push_back(tree.paths[target]);
    scores.push_back(tree.scores[target]);
    if (origins.size() == 1) continue;
    paths.back().sequence = session_->add_mean(origins, 0);
    for (const std::int64_t origin : origins)
      session_->drop(origin);
  }
  tree.paths = std::move(paths);
  tree.scores = std::move(scores);
}

/// Stores the states and scores of a tree's paths in the nodes of the paths. `states` has the
/// states of all paths of the tree, [paths, latent steps, hidden size].
void LatentCollector::keep_states(Growing& tree, const float* states) {
  std::vector<const std::vector<float>*> of_paths;
  for (const Path& path : tree.paths) {
    AgentNode& node = tree.nodes[static_cast<std::size_t>(path.node)];
    node.latents.assign(states, states + inputs_.keys.agents.steps * width_);
    states += inputs_.keys.agents.steps * width_;
    of_paths.push_back(&node.latents);
  }
  tree.scores = score_paths(of_paths, width_);
  for (std::size_t p = 0; p < tree.paths.size(); ++p)
    tree.nodes[static_cast<std::size_t>(tree.paths[p].node)].score = tree.scores[p].score;
}

/// Draws the answers of all paths in one batch.
void LatentCollector::answer(std::vector<Growing>& trees,
                             std::vector<CollectedQuestion>& collected) {
  std::vector<std::int64_t> sequences;
  for (const Growing& tree : trees)
    for (const Path& path : tree.paths)
      sequences.push_back(path.sequence);
  std::vector<lm::Completion> completions(sequences.size());
  latents_.complete(sequences, inputs_.keys.max_new_tokens,
                    [&](std::size_t index, lm::Completion completion) {
                      completions[index] = std::move(completion);
                      report(++finished_);
                    });
  auto next = completions.begin();
  for (Growing& tree : trees) {
    const auto end = next + std::ssize(tree.paths);
    finish(tree, {std::make_move_iterator(next), std::make_move_iterator(end)},
           collected[tree.question]);
    next = end;
  }
}

/// Judges the answers of a question, and makes its tree.
void LatentCollector::finish(Growing& tree, std::vector<lm::Completion> completions,
                             CollectedQuestion& collected) {
  std::vector<AgentAnswer> answers;
  for (std::size_t p = 0; p < tree.paths.size(); ++p)
    answers.push_back({tree.paths[p].node, std::move(completions[p])});
  collected =
      collect_answers({inputs_, encoder_, judge_, index_of(tree), questions_[tree.question].answer},
                      std::move(tree.nodes), std::move(answers));
}

}  // namespace mgpu::jobs
