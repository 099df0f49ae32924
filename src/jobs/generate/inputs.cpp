#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/base/random_streams.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

#include "search_scores.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;
constexpr Purpose kRollIn{31};  // for the random cut of a completion; one draw per row

/// The configuration and the checksum of the value model.
struct GuideFacts {
  lm::LmConfig config;
  std::uint32_t fingerprint = 0;
};

/// Facts about the models, other than model.path, on which the results depend.
struct OtherModels {
  std::optional<std::uint32_t> reference{};  // checksum of generate.reference
  std::optional<GuideFacts> guide{};
  std::optional<std::uint32_t> judge{};   // checksum of reward.model
  std::optional<std::uint32_t> search{};  // checksum of generate.reward.path
};

/// Adds the checksum of a model to the checksums of `inputs`. Does nothing if `fingerprint` is
/// nullopt, which means that the run has no such model.
void add_model(const char* key, std::optional<std::uint32_t> fingerprint, GenerateInputs& inputs) {
  if (!fingerprint) return;
  const std::string checksum = rows::checksum_text(*fingerprint);
  inputs.inputs.emplace(key, checksum);
  inputs.crc = crc32c(std::string(key) + " " + checksum, inputs.crc);
}

/// Cuts the completion of the row at a random token, and appends the part before the cut to the
/// prompt. This part has at least one token, fewer tokens than the completion, and fewer than
/// generate.max_new_tokens. If the completion ends with a stop token, the part has at least two
/// tokens fewer than the completion. The part is empty if the completion is too short. A row whose
/// `completion_ids` are not a list of ids of the vocabulary gets the status bad_row.
void begin_completion(const input::Row& row, const GenerateInputs& inputs, std::uint64_t number,
                      rows::EncodedPrompt& prompt) {
  std::vector<std::int64_t> ids;
  const std::string problem = rows::problem_of([&] {
    ids = rows::ids_of(row.object.at("completion_ids"), "completion_ids");
    for (const std::int64_t id : ids)
      if (id < 0 || id >= inputs.model.vocab)
        throw formats::JsonError("token " + std::to_string(id) +
                                 " is not in the model's vocabulary of " +
                                 std::to_string(inputs.model.vocab));
  });
  if (!problem.empty()) {
    prompt.facts.status = rows::RowStatus::bad_row;
    prompt.facts.reason = problem;
    return;
  }
  const std::vector<std::int64_t>& stops = inputs.config.generation.stop_ids;
  const bool is_stopped = std::ranges::find(stops, ids.back()) != stops.end();
  const std::int64_t begins =
      std::min(std::ssize(ids) - (is_stopped ? 1 : 0), inputs.keys.max_new_tokens);
  const RandomStream draws(inputs.keys.run.seed, kRollIn, 0, number);
  prompt.begun = begins < 2 ? 0 : 1 + draws.below(static_cast<std::uint32_t>(begins - 1), 0);
  prompt.ids.insert(prompt.ids.end(), ids.begin(), ids.begin() + prompt.begun);
}

GenerateInputs put_together(const GenerateKeys& keys, rows::ModelRows read, OtherModels models) {
  GenerateInputs inputs{std::move(read)};
  inputs.keys = keys;
  add_model("generate.reference", models.reference, inputs);
  add_model("reward.model", models.judge, inputs);
  add_model("generate.reward.path", models.search, inputs);
  if (models.guide) {
    add_model("generate.guide.path", models.guide->fingerprint, inputs);
    inputs.guide = std::move(models.guide->config);
  }
  inputs.config = fill_in(keys, inputs.model.generation);
  inputs.can_judge_messages = rows::can_judge_messages(keys.rewards);
  if (keys.search && !judges_steps(*keys.search))
    inputs.can_judge_messages =
        inputs.can_judge_messages && rows::can_judge_messages(reward_settings_of(*keys.search));
  inputs.phase = run::phase_of(inputs.crc);
  return inputs;
}

/// Gives a prompt the status bad_row if it has messages that the reward model cannot read.
void refuse_messages(const GenerateInputs& inputs, rows::EncodedPrompt& prompt) {
  if (prompt.messages.empty() || inputs.can_judge_messages) return;
  prompt = {"",
            {},
            {rows::RowStatus::bad_row,
             "it has messages, but the folder of the reward model has no chat template"}};
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
  std::int64_t number = first;
  for (const input::Row& row : rows.read(first, count)) {
    encoded.push_back(encoder.encode(row));
    refuse_messages(*this, encoded.back());
    rows::RowFacts& facts = encoded.back().facts;
    if (keys.rolls_in && facts.status == rows::RowStatus::ok)
      begin_completion(row, *this, static_cast<std::uint64_t>(number), encoded.back());
    ++number;
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

lm::MemoryDemand GenerateInputs::demand(DeviceKind device, std::int64_t longest_prompt) const {
  const lm::GenerationConfig& generation = config.generation;
  lm::MemoryDemand demand;
  demand.batch_size =
      run::most_at_once(counts(), config.has_auto_batch ? 0 : generation.batch_size, device);
  demand.longest = longest_prompt + std::max<std::int64_t>(0, generation.max_new_tokens - 1);
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.cache_type = generation.cache_type;
  demand.logit_copies = lm::logit_copies(generation.sampling);
  // A guide needs three copies: the logits, the logits plus the guide's offsets, and these sums
  // divided by the temperature.
  if (keys.guide) demand.logit_copies = std::max<std::int64_t>(demand.logit_copies, 3);
  demand.has_samples = config.num_samples > 1;
  demand.is_scoring = generation.max_new_tokens == 0;
  return demand;
}

GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config,
                                    const GenerateKeys& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  OtherModels others;
  if (keys.has_reference())
    others.reference =
        rows::read_folder_tokenizer(world, keys.reference, keys.rows.chat, models).fingerprint;
  if (keys.guide) {
    const std::filesystem::path& folder = keys.guide->folder;
    others.guide.emplace(lm::read_shared_lm_config(world, folder),
                         rows::read_folder_tokenizer(world, folder, {}, models).fingerprint);
  }
  std::optional<GenerateInputs> inputs;
  cluster::run_together(world, [&] {
    if (keys.rewards.has_model()) others.judge = rows::reward_fingerprint(keys.rewards, models);
    if (keys.search)
      others.search = rows::reward_fingerprint(reward_settings_of(*keys.search), models);
    inputs.emplace(put_together(keys, std::move(read), std::move(others)));
  });
  return std::move(*inputs);
}

GenerateInputs read_generate_inputs(const Config& config, const GenerateKeys& keys) {
  OtherModels others;
  if (keys.has_reference())
    others.reference = rows::read_folder_tokenizer(keys.reference, keys.rows.chat).fingerprint;
  if (keys.guide)
    others.guide.emplace(lm::read_lm_config(keys.guide->folder),
                         rows::read_folder_tokenizer(keys.guide->folder, {}).fingerprint);
  if (keys.rewards.has_model()) others.judge = rows::reward_fingerprint(keys.rewards);
  if (keys.search) others.search = rows::reward_fingerprint(reward_settings_of(*keys.search));
  return put_together(keys, rows::read_model_rows(config, keys.rows), std::move(others));
}

std::string answer_note(const GenerateInputs& inputs) {
  const GenerateKeys& keys = inputs.keys;
  if (keys.rows.dataset || keys.rewards.is_given() || keys.max_new_tokens == 0) return "";
  const std::vector<input::Row> first = inputs.rows.read(0, 1);
  if (first.empty() || rows::answer_of(first.front().object).empty()) return "";
  return "rows have a column `answer`, which reward.functions=[match] compares with the "
         "completions";
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
    for (const rows::EncodedPrompt& prompt : inputs.encode(first, count, encoder, problems)) {
      const bool is_left_out = prompt.facts.status == rows::RowStatus::too_long ||
                               prompt.facts.status == rows::RowStatus::bad_row;
      counts.push_back(is_left_out ? 0 : std::ssize(prompt.ids));
    }
  }
  problems.throw_if_any(input::kBadRowHelp);
  return counts;
}

}  // namespace mgpu::jobs
