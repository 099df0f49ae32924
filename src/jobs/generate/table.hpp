#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/store/results/table.hpp>

#include "completions.hpp"
#include "inputs.hpp"

namespace mgpu::jobs {

/// How a completion ended, as column `finish` has it: none where the row was not completed.
enum class Finish : std::uint8_t { stop_token, stop_string, length, context, scored, none };
const char* name_of(Finish finish);

/// Table `samples` of results.h5: a row per prompt and completion, in the order of the input.
store::TableSpec completion_table(const GenerateInputs& inputs);

/// The journal payload of the prompts from `first` on. `encoder` turns completions into texts.
std::vector<std::byte> completion_rows(const GenerateInputs& inputs, std::int64_t first,
                                       std::span<const rows::EncodedPrompt> prompts,
                                       std::span<const CompletedPrompt> completed,
                                       const rows::PromptEncoder& encoder);

}  // namespace mgpu::jobs
