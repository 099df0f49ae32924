#include "reference.hpp"

#include <optional>
#include <string>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::jobs {
namespace {

constexpr const char* kReferenceKey = "generate.reference";

Failure unlike_model(const Config& config, const std::string& what,
                     const std::filesystem::path& model) {
  return config.problem("E107", kReferenceKey,
                        "`generate.reference` has " + what + " than model.path, " + model.string(),
                        "a folder with the tokenizer and the vocabulary of the model, such as the "
                        "one that its training began with");
}

}  // namespace

void check_reference_folder(const Config& config, const std::filesystem::path& model,
                            const std::filesystem::path& reference, bool needs_weights) {
  if (needs_weights)
    rows::check_model_folder(config, reference, kReferenceKey);
  else
    rows::check_model_config(config, reference, kReferenceKey);
  const std::int64_t vocab = lm::read_lm_config(model).vocab;
  const std::int64_t other = lm::read_lm_config(reference).vocab;
  if (vocab != other)
    throw unlike_model(config,
                       "another vocabulary (" + std::to_string(other) + " tokens instead of " +
                           std::to_string(vocab) + ")",
                       model);
  const std::optional<text::TextFiles> mine = rows::read_tokenizer_files(model, {});
  const std::optional<text::TextFiles> theirs = rows::read_tokenizer_files(reference, {});
  if (!mine || !theirs) return;  // the rows may be token ids, which need no tokenizer
  if (mine->tokenizer != theirs->tokenizer || mine->sentence_pieces != theirs->sentence_pieces)
    throw unlike_model(config, "another tokenizer", model);
}

}  // namespace mgpu::jobs
