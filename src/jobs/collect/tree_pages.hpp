#pragma once

#include <cstdint>
#include <span>

#include "keys.hpp"
#include "question.hpp"

namespace mgpu::jobs {

/// Returns the largest number of cache pages that the paths of a question can use at the same time.
/// Paths that continue the same path share the full pages of that path. The result assumes that
/// every path has the maximum number of tokens, and that merged paths share no pages. It also
/// assumes that the paths that an agent continues have as many different parents as possible, so
/// that they share as few pages as possible.
///
/// `prompts` has the prompts of all agents, and `page_tokens` is the number of tokens of a cache
/// page.
std::int64_t tree_pages(std::span<const AgentPrompt> prompts, const CollectKeys& keys,
                        std::int64_t page_tokens);

}  // namespace mgpu::jobs
