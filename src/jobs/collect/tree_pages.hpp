#pragma once

#include <cstdint>
#include <span>

#include "keys.hpp"
#include "question.hpp"

namespace mgpu::jobs {

/// Returns the most cache pages that the paths of a question use at the same time. Paths share the
/// pages of the tokens before their branch. Each path is assumed to end after the maximum number of
/// tokens. With collect.latent.merge_similarity, no sharing is assumed.
///
/// `prompts`: those of all agents. `page_tokens`: tokens of a page.
std::int64_t tree_pages(std::span<const AgentPrompt> prompts, const CollectKeys& keys,
                        std::int64_t page_tokens);

}  // namespace mgpu::jobs
