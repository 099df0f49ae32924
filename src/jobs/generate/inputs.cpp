#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_text.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;

input::RowOptions row_options(const Config& config) {
  input::RowOptions options = input::read_row_options(config);
  options.one_of = {"prompt", "messages", "token_ids"};
  return options;
}

/// The parts that a rank has without the model's text and fingerprint, which come afterwards.
GenerateInputs begin_inputs(const Config& config, lm::LmConfig model, input::RowFile rows) {
  GenerateConfig generate = read_generate_config(config, model.generation);
  return {.config = std::move(generate),
          .model = std::move(model),
          .row_options = row_options(config),
          .text = {},
          .rows = std::move(rows)};
}

void finish_inputs(const Config& config, rows::FolderText text, GenerateInputs& inputs) {
  inputs.text = std::move(text.files);
  const std::array crcs{inputs.rows.crc(), text.fingerprint, rows::chat_crc(inputs.text)};
  inputs.phase =
      run::generation_phase(rows::crc_with_groups(config, crc32c(std::as_bytes(std::span(crcs)))));
}

}  // namespace

rows::PromptEncoder GenerateInputs::encoder() const {
  rows::PromptEncoder::Options options = config.prompt;
  options.vocab = model.vocab;
  return {text, config.model, options};
}

std::vector<rows::EncodedPrompt> GenerateInputs::encode(std::int64_t first, std::int64_t count,
                                                        rows::PromptEncoder& encoder,
                                                        formats::LineProblems& problems) const {
  std::vector<rows::EncodedPrompt> encoded;
  for (const input::Row& row : rows.read(first, count)) {
    encoded.push_back(encoder.encode(row));
    const bool is_bad = !encoded.back().problem.empty();
    if (is_bad && row_options.on_bad_row == input::BadRow::stop)
      problems.add(row.line, encoded.back().problem);
  }
  return encoded;
}

lm::MemoryDemand GenerateInputs::demand(std::int64_t chunk_rows,
                                        std::int64_t longest_prompt) const {
  const lm::GenerationConfig& generation = config.generation;
  const std::int64_t most = std::min(chunk_rows, prompts()) * config.num_samples;
  const bool is_auto = config.has_auto_batch;
  lm::MemoryDemand demand;
  demand.batch_size = is_auto ? most : std::min(generation.batch_size, most);
  demand.longest = longest_prompt + std::max<std::int64_t>(0, generation.max_new_tokens - 1);
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.has_samples = config.num_samples > 1;
  demand.is_scoring = generation.max_new_tokens == 0;
  return demand;
}

GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config) {
  input::RowFile rows = input::open_rows(world, row_options(config));
  lm::LmConfig model = lm::read_shared_lm_config(world, config.text("model.path"));
  std::optional<GenerateInputs> inputs;
  cluster::run_together(
      world, [&] { inputs.emplace(begin_inputs(config, std::move(model), std::move(rows))); });
  finish_inputs(config,
                rows::read_folder_text(world, inputs->config.model, rows::read_chat_choice(config)),
                *inputs);
  return std::move(*inputs);
}

GenerateInputs read_generate_inputs(const Config& config) {
  GenerateInputs inputs = begin_inputs(config, lm::read_lm_config(config.text("model.path")),
                                       input::open_rows(row_options(config)));
  finish_inputs(config, rows::read_folder_text(inputs.config.model, rows::read_chat_choice(config)),
                inputs);
  return inputs;
}

std::int64_t count_prompts(const Config& config) {
  input::RowOptions options = row_options(config);
  options.on_bad_row = input::BadRow::mark;  // nobody looks at the rows
  try {
    return input::open_rows(options).rows();
  } catch (const Failure&) {
    return 0;
  }
}

std::vector<std::int64_t> count_tokens(const GenerateInputs& inputs) {
  rows::PromptEncoder encoder = inputs.encoder();
  formats::LineProblems problems(inputs.rows.path());
  std::vector<std::int64_t> counts;
  for (std::int64_t first = 0; first < inputs.prompts(); first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, inputs.prompts() - first);
    for (const rows::EncodedPrompt& prompt : inputs.encode(first, count, encoder, problems))
      counts.push_back(std::ssize(prompt.ids));
  }
  problems.throw_if_any(input::kBadRowHelp);
  return counts;
}

}  // namespace mgpu::jobs
