#include "method.hpp"

#include <string>

#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/text/text_folder.hpp>

#include "recipes/lm/examples.hpp"
#include "recipes/required_file.hpp"

namespace mgpu::recipes {
namespace {

/// Returns whether the unit of the loss is nats. A loss has this unit if it consists of logarithms
/// of the probability that `chosen` is the better completion.
bool has_nats(DpoKind kind) {
  return kind == DpoKind::sigmoid || kind == DpoKind::robust || kind == DpoKind::sigmoid_norm;
}

constexpr const char* kReferenceKey = "dpo.reference";

/// Refuses a reference with another tokenizer, or with a vocabulary that is too small for the
/// tokenizer.
void require_tokens(const Config& config, const std::filesystem::path& reference,
                    const std::filesystem::path& folder, std::int64_t vocab) {
  require_tokenizer(config, kReferenceKey, reference);
  const text::TextFiles theirs = text::read_text_files(reference);
  const text::TextFiles ours = text::read_text_files(folder);
  if (theirs.tokenizer != ours.tokenizer || theirs.sentence_pieces != ours.sentence_pieces)
    throw config.problem(
        "E107", kReferenceKey,
        "`dpo.reference` has another tokenizer.json than the trained model, " + folder.string(),
        "a reference and a model with the same tokenizer");
  const auto tokens =
      static_cast<std::int64_t>(text::parse_text_folder(ours, folder).tokenizer.vocab_size());
  if (tokens <= vocab) return;
  throw config.problem("E107", kReferenceKey,
                       "`dpo.reference` has a vocabulary of " + std::to_string(vocab) +
                           " tokens, and the tokenizer has " + std::to_string(tokens),
                       "a reference for this tokenizer");
}

}  // namespace

input::RowOptions DpoMethod::row_options(input::RowOptions options) const {
  options.all_of = {"chosen", "rejected"};
  options.may_have = {"prompt"};
  return options;
}

void DpoMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                       lm::LmExamples& examples) const {
  encoder.add_pair(row, examples);
}

void DpoMethod::check_files(const Config& config, const std::filesystem::path& folder) const {
  const std::filesystem::path& reference = settings_.reference;
  if (reference.empty()) return;
  rows::check_model_config(config, reference, kReferenceKey);
  const lm::LmConfig model = lm::read_lm_config(reference, lm::FolderWeights::ignored);
  require_tokens(config, reference, folder, model.vocab);
}

void DpoMethod::check_weights(const Config& config) const {
  if (!settings_.reference.empty())
    rows::check_model_folder(config, settings_.reference, kReferenceKey);
}

MethodData DpoMethod::read(std::int64_t /*seq_len*/, std::int64_t /*vocab*/) const {
  if (settings_.reference.empty()) return {};
  return {.crc = rows::model_fingerprint(settings_.reference),
          .note = lm::head_note(settings_.reference, lm::read_lm_config(settings_.reference))};
}

LossMeaning DpoMethod::loss_meaning() const {
  LossMeaning meaning{.name = "preference loss",
                      .per = "pair",
                      .unit = has_nats(settings_.kind) ? "nats" : "",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (settings_.sft_weight > 0.0)
    meaning.name +=
        report::text_of(" + %.3g cross-entropy of chosen completions", settings_.sft_weight);
  return meaning;
}

}  // namespace mgpu::recipes
