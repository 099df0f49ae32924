#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::jobs {

/// The --explain texts of the error codes of job classify.
inline constexpr auto kClassifyErrors = std::to_array<ErrorPage>({
    {"E536", "file of prompt strategies that cannot be used",
     "classify.prompt is neither a text that contains {text} nor JSON with strategies, or it has "
     "no strategy of that name.",
     "{\"strategies\": {\"NAME\": {\"system_prompt\": \"...\", \"user_template\": \"... "
     "{text}\"}}}. Choose one with classify.strategy=NAME."},
    {"E537", "answer that names no label",
     "A generated answer contains no label of classify.labels, or several, and "
     "classify.on_unparsed is error.",
     "Set classify.on_unparsed to count or retry, or classify.score=label_logprob, which always "
     "finds a label."},
});

}  // namespace mgpu::jobs
