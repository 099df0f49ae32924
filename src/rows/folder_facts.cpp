#include <algorithm>
#include <array>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>

namespace mgpu::rows {
namespace {

std::uint32_t crc_of_ends(std::span<const std::byte> bytes, std::uint32_t crc) {
  constexpr std::size_t kEnd = 4096;
  const std::size_t count = std::min(bytes.size(), kEnd);
  return crc32c(bytes.last(count), crc32c(bytes.first(count), crc));
}

std::int64_t num_parameters(const formats::WeightFiles& files) {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : files.tensors()) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor->shape)
      count *= size;
    sum += count;
  }
  return sum;
}

std::string text_of(const lm::LmConfig& config, const formats::WeightFiles& files) {
  const auto parameters = static_cast<double>(num_parameters(files));
  std::string text = config.family + ", " +
                     (parameters < 1e6 ? report::text_of("%.1f k", parameters / 1e3)
                                       : report::text_of("%.1f M", parameters / 1e6)) +
                     " parameters";
  if (!config.stored_type.empty()) text += " in " + config.stored_type;
  return text;
}

std::uint32_t fingerprint_of(const lm::LmConfig& config, const formats::WeightFiles& files) {
  const std::filesystem::path& folder = files.folder();
  // Earlier versions of this program ignored a stored vocabulary head if config.json ties the head
  // to the embedding. For a folder with such a head, "untied" changes the fingerprint. So a run
  // does not reuse chunks that those versions computed.
  const bool is_untied = config.stored_head == lm::StoredHead::untied;
  std::uint32_t crc = is_untied ? crc32c("untied", 0) : 0;
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    const std::filesystem::path path = folder / name;
    if (std::filesystem::exists(path)) crc = crc32c(read_file(path), crc32c(name, crc));
  }
  const std::filesystem::path pieces = folder / "tokenizer.model";
  if (!std::filesystem::exists(folder / "tokenizer.json") && std::filesystem::exists(pieces))
    crc = crc32c(read_file(pieces), crc32c("tokenizer.model", crc));
  for (const auto& [name, tensor] : files.tensors()) {
    const std::string head =
        std::string(name) + tensor->dtype_name + formats::to_text(tensor->shape);
    crc = crc_of_ends(tensor->bytes, crc32c(head, crc));
  }
  return crc;
}

}  // namespace

FolderFacts folder_facts(const std::filesystem::path& folder, lm::ResidentModels* models) {
  const auto look = [&] {
    const formats::WeightFiles files(folder);
    const lm::LmConfig config = lm::read_lm_config(folder);
    return std::to_string(fingerprint_of(config, files)) + " " + text_of(config, files);
  };
  const std::string facts = models == nullptr ? look() : models->about(folder, look);
  const std::size_t space = facts.find(' ');
  return {static_cast<std::uint32_t>(std::stoul(facts.substr(0, space))), facts.substr(space + 1)};
}

std::uint32_t crc_with_groups(const run::ModelKeys& keys, std::uint32_t crc) {
  const int ranks = keys.summing_ranks();
  return ranks == 1 ? crc : crc32c("tensor " + std::to_string(ranks), crc);
}

}  // namespace mgpu::rows
