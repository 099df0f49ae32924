#include <array>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/model_text.hpp>

namespace mgpu::jobs {
namespace {

using text::TextFiles;

constexpr std::array kTextFiles = {
    &TextFiles::tokenizer,    &TextFiles::tokenizer_config, &TextFiles::special_tokens_map,
    &TextFiles::added_tokens, &TextFiles::config,           &TextFiles::generation_config,
    &TextFiles::chat_template};

}  // namespace

std::optional<TextFiles> read_model_text(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "tokenizer.json")) return std::nullopt;
  return text::read_text_files(folder);
}

void share_model_text(const cluster::Group& world, std::optional<TextFiles>& files) {
  if (world.broadcast(files ? "yes" : "no", 0) != "yes") return;
  if (!files) files.emplace();
  for (const auto member : kTextFiles)
    (*files).*member = world.broadcast(std::move((*files).*member), 0);
}

std::optional<text::TextFolder> parse_model_text(const std::optional<TextFiles>& files,
                                                 const std::filesystem::path& folder,
                                                 std::int64_t vocab) {
  if (!files) return std::nullopt;
  text::TextFolder parsed = text::parse_text_folder(*files, folder);
  const std::size_t tokens = parsed.tokenizer.vocab_size();
  if (std::cmp_less_equal(tokens, vocab)) return parsed;
  throw Failure({"E702",
                 ExitCode::data,
                 "the tokenizer has " + std::to_string(tokens) + " tokens, the model knows " +
                     std::to_string(vocab),
                 {"  --> " + folder.string()},
                 "take tokenizer.json and config.json from the same revision of the same model"});
}

}  // namespace mgpu::jobs
