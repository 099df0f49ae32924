#include "same_tokens.hpp"

#include <cstdint>
#include <system_error>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::jobs {
namespace {

bool have_same_tokenizer(const std::filesystem::path& a, const std::filesystem::path& b) {
  const bool has_both = text::has_tokenizer(a) && text::has_tokenizer(b);
  if (!text::has_tokenizer(a) && !text::has_tokenizer(b)) return true;
  if (!has_both) return false;
  const text::TextFiles mine = text::read_text_files(a);
  const text::TextFiles other = text::read_text_files(b);
  return mine.tokenizer == other.tokenizer && mine.sentence_pieces == other.sentence_pieces;
}

}  // namespace

void check_same_tokens(const Config& config, const TokenReader& reader,
                       const std::filesystem::path& model) {
  std::error_code missing;
  if (!std::filesystem::exists(model / "config.json", missing)) return;
  if (!have_same_tokenizer(reader.folder, model))
    throw config.problem(
        "E107", reader.key,
        "`" + reader.key + "` has another tokenizer than model.path, " + model.string(),
        reader.help);
  const std::int64_t reads = lm::read_lm_config(reader.folder, lm::FolderWeights::ignored).vocab;
  const std::int64_t draws = lm::read_lm_config(model, lm::FolderWeights::ignored).vocab;
  if (reads >= draws) return;
  throw config.problem("E107", reader.key,
                       "`" + reader.key + "` has a vocabulary of " + std::to_string(reads) +
                           " tokens, and model.path one of " + std::to_string(draws),
                       reader.help);
}

}  // namespace mgpu::jobs
