#pragma once

#include <cstdint>
#include <span>

#include "keys.hpp"
#include "question.hpp"

namespace mgpu::jobs {

/// Returns the largest number of cache pages that the paths of a question can use at the same time.
/// Paths that continue the same path share the full pages of that path. The result assumes that
/// every path has the maximum number of tokens. It also assumes that an agent continues paths of as
/// many different parents as possible, and that merged paths share no pages.
///
/// `prompts` has the prompts of all agents, and `page_tokens` is the number of tokens of a cache
/// page.
std::int64_t tree_pages(std::span<const AgentPrompt> prompts, const CollectKeys& keys,
                        std::int64_t page_tokens);

}  // namespace mgpu::jobs
