#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::ad {

/// The --explain texts of the error codes of Algorithm Distillation.
inline constexpr auto kAdErrors = std::to_array<ErrorPage>({
    {"E131", "window and model do not fit",
     "The histories, the context length and the token layout of the model are inconsistent.",
     "Change one of the keys that the sentence names."},
    {"E132", "environment that its source cannot play",
     "The explorer remembers at most 128 states. All sources need moves that do not depend on the "
     "task, rewards that depend only on the state reached, and states that can all be reached.",
     "Choose another source (data.source) or another environment."},
    {"E521", "history from another environment",
     "A stored history has steps that the environment would not have made.",
     "Create new histories with data.path=null, or name the environment that they come from."},
});

}  // namespace mgpu::ad
