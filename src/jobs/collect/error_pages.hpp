#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::jobs {

/// The --explain texts of the error codes of job collect.
inline constexpr auto kCollectErrors = std::to_array<ErrorPage>({
    {"E538", "file of agents that cannot be used",
     "collect.agents.path is not JSON with a list of agents, or an agent has an unknown "
     "placeholder, or the last one is not called judger.",
     "{\"agents\": [{\"name\": \"planner\", \"prompt\": \"... {question}\"}, {\"name\": "
     "\"judger\", \"prompt\": \"... {question} ...\"}]}. {context} has the texts of the agents "
     "before, with collect.agents.method=text_mas."},
});

}  // namespace mgpu::jobs
