#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;

/// Makes the reward model part of what identifies the inputs.
void add_reward_model(std::uint32_t fingerprint, GenerateInputs& inputs) {
  const std::array crcs{inputs.crc, fingerprint};
  inputs.crc = crc32c(std::as_bytes(std::span(crcs)));
  inputs.inputs["reward.model"] = rows::checksum_text(fingerprint);
}

/// Adds the reference model to what the results depend on.
void add_reference(rows::ModelRows& read, std::uint32_t fingerprint) {
  const std::string checksum = rows::checksum_text(fingerprint);
  read.inputs.emplace("generate.reference", checksum);
  read.crc = crc32c("reference " + checksum, read.crc);
}

GenerateInputs put_together(const GenerateKeys& keys, rows::ModelRows read,
                            std::optional<std::uint32_t> reference,
                            lm::ResidentModels* models = nullptr) {
  if (reference) add_reference(read, *reference);
  GenerateInputs inputs{std::move(read)};
  inputs.keys = keys;
  inputs.config = fill_in(keys, inputs.model.generation);
  inputs.can_judge_messages = rows::can_judge_messages(keys.rewards);
  if (keys.rewards.has_model())
    add_reward_model(rows::reward_fingerprint(keys.rewards, models), inputs);
  inputs.phase = run::phase_of(inputs.crc);
  return inputs;
}

/// Marks a prompt that the reward model cannot read.
void refuse_messages(const GenerateInputs& inputs, rows::EncodedPrompt& prompt) {
  if (prompt.messages.empty() || inputs.can_judge_messages) return;
  prompt = {"",
            {},
            {rows::RowStatus::bad_row,
             "it has messages, but the folder of reward.model has no chat template"}};
}

}  // namespace

rows::PromptEncoder GenerateInputs::encoder() const {
  rows::PromptEncoder::Options options = config.prompt;
  options.vocab = model.vocab;
  return {text, folder, options};
}

std::vector<rows::EncodedPrompt> GenerateInputs::encode(std::int64_t first, std::int64_t count,
                                                        rows::PromptEncoder& encoder,
                                                        formats::LineProblems& problems) const {
  std::vector<rows::EncodedPrompt> encoded;
  for (const input::Row& row : rows.read(first, count)) {
    encoded.push_back(encoder.encode(row));
    refuse_messages(*this, encoded.back());
    rows::RowFacts& facts = encoded.back().facts;
    facts.kept = kept.values_of(row);
    if (keys.rewards.is_given() && row.problem.empty())
      encoded.back().answer = rows::answer_of(row.object);
    const std::int64_t tokens = std::ssize(encoded.back().ids);
    const std::int64_t context = rows::context_of(model);
    const bool is_beyond = context > 0 && tokens > context;
    if (is_beyond && keys.beyond_context != BeyondContext::warn) {
      const std::string why = rows::beyond_context_text(tokens, context);
      facts.status = rows::RowStatus::too_long;
      facts.reason = why;
      if (keys.beyond_context == BeyondContext::stop) problems.add(row.line, why);
      continue;
    }
    if (!facts.reason.empty() && row_options.on_bad_row == input::BadRow::stop)
      problems.add(row.line, facts.reason);
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
  demand.logit_copies = lm::logit_copies(generation.sampling);
  demand.has_samples = config.num_samples > 1;
  demand.is_scoring = generation.max_new_tokens == 0;
  return demand;
}

GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config,
                                    const GenerateKeys& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  std::optional<std::uint32_t> reference;
  if (keys.has_reference())
    reference = rows::read_folder_text(world, keys.reference, keys.rows.chat, models).fingerprint;
  std::optional<GenerateInputs> inputs;
  cluster::run_together(
      world, [&] { inputs.emplace(put_together(keys, std::move(read), reference, models)); });
  return std::move(*inputs);
}

GenerateInputs read_generate_inputs(const Config& config, const GenerateKeys& keys) {
  std::optional<std::uint32_t> reference;
  if (keys.has_reference())
    reference = rows::read_folder_text(keys.reference, keys.rows.chat).fingerprint;
  return put_together(keys, rows::read_model_rows(config, keys.rows), reference);
}

std::int64_t count_prompts(const GenerateKeys& keys) {
  input::RowOptions options = keys.rows.options;
  options.on_bad_row = input::BadRow::mark;  // only the number of rows is used
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
