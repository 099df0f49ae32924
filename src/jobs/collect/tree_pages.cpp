#include "tree_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mgpu::jobs {
namespace {

/// Computes the largest number of cache pages that the paths of a question use at the same time.
/// The paths grow and branch together, so they have the same length.
class GrowingPaths {
public:
  explicit GrowingPaths(std::int64_t page_tokens) : page_tokens_(page_tokens) {}

  std::int64_t count() const { return count_; }
  std::int64_t peak() const { return peak_; }

  void grow(std::int64_t tokens) {
    length_ += tokens;
    see(shared() + count_ * own());
  }

  /// Keeps at most `count` paths. Assumes that the kept paths come from as many different parents
  /// as possible, at each earlier call to branch().
  void keep(std::int64_t count) {
    count_ = std::min(count_, count);
    for (Branch& branch : branches_)
      branch.paths = std::min(branch.paths, count_);
  }

  /// Divides the paths into `count` paths. New paths share the full pages of the path from which
  /// they branch. Each new path has a copy of the last page, unless that page is full.
  void branch(std::int64_t count) {
    if (count <= count_) return;
    const std::int64_t full = length_ / page_tokens_;
    branches_.push_back({count_, full - branched_at_});
    branched_at_ = full;
    count_ = count;
  }

  /// Replaces the paths, one after the other. The copy of a path has `tokens` of its tokens, and
  /// the old path is dropped as soon as its copy exists. The copies share no pages.
  void copy(std::int64_t tokens) {
    const std::int64_t fresh = pages_of(tokens);
    see(shared() + count_ * own() + fresh);
    see(shared() + own() + count_ * fresh);
    share_nothing();
    length_ = tokens;
  }

  /// Assumes that paths merge in pairs, one pair after the other, and that a merged path shares no
  /// pages. Afterwards, every path counts as a path that shares no pages.
  void merge() {
    const std::int64_t pairs = count_ / 2;
    if (pairs == 0) return;
    const std::int64_t fresh = pages_of(length_);
    see(shared() + count_ * own() + fresh);
    see(shared() + (count_ - 2 * (pairs - 1)) * own() + pairs * fresh);
    share_nothing();
  }

private:
  /// The pages that new paths share after one call to branch().
  struct Branch {
    std::int64_t paths = 0;  // paths that the call divided, if one of their new paths is kept
    std::int64_t pages = 0;  // full pages of each divided path since the previous branch
  };

  std::int64_t pages_of(std::int64_t tokens) const {
    return (tokens + page_tokens_ - 1) / page_tokens_;
  }
  /// Returns the number of pages that a path shares with no other path.
  std::int64_t own() const { return pages_of(length_) - branched_at_; }
  std::int64_t shared() const {
    std::int64_t pages = 0;
    for (const Branch& branch : branches_)
      pages += branch.paths * branch.pages;
    return pages;
  }
  void see(std::int64_t pages) { peak_ = std::max(peak_, pages); }
  void share_nothing() {
    branches_.clear();
    branched_at_ = 0;
  }

  std::int64_t page_tokens_;
  std::int64_t count_ = 1;
  std::int64_t length_ = 0;       // tokens of a path
  std::int64_t branched_at_ = 0;  // full pages of a path before its last branch
  std::vector<Branch> branches_{};
  std::int64_t peak_ = 0;
};

/// Returns the largest number of paths that an agent continues if the previous agent has made
/// `paths` paths. There must be a previous agent.
std::int64_t parents_of(const AgentKeys& keys, bool is_last, std::int64_t paths) {
  if (is_last) return keys.prunes ? 1 : paths;
  return std::min(paths, keys.num_parents);
}

/// Returns the largest number of paths that an agent makes if it continues `parents` paths.
std::int64_t children_of(const CollectKeys& keys, bool is_first, bool is_last,
                         std::int64_t parents) {
  const bool has_noise = keys.agents.diversity != Diversity::none;
  if (is_last) return has_noise && !is_first ? parents : keys.num_paths;
  return has_noise ? keys.num_paths : 1;
}

}  // namespace

std::int64_t tree_pages(std::span<const AgentPrompt> prompts, const CollectKeys& keys,
                        std::int64_t page_tokens) {
  GrowingPaths paths(page_tokens);
  for (std::size_t agent = 0; agent < prompts.size(); ++agent) {
    const bool is_last = agent + 1 == prompts.size();
    if (agent > 0) paths.keep(parents_of(keys.agents, is_last, paths.count()));
    if (agent > 0 && keys.agents.carry == Carry::latent_only)
      paths.copy(static_cast<std::int64_t>(agent) * keys.agents.steps);
    if (agent > 0 && keys.agents.carry == Carry::last_agent)
      paths.copy(prompts[agent - 1].size() + keys.agents.steps);
    paths.grow(prompts[agent].size());
    paths.branch(children_of(keys, agent == 0, is_last, paths.count()));
    paths.grow(is_last ? keys.max_new_tokens - 1 : keys.agents.steps);
    if (agent == kMergingAgent && keys.agents.merge_similarity) paths.merge();
  }
  return paths.peak();
}

}  // namespace mgpu::jobs
