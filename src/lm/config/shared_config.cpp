#include <span>
#include <utility>

#include <mgpu/lm/config/shared_config.hpp>

namespace mgpu::lm {

LmConfigTexts broadcast_texts(const cluster::Group& group, LmConfigTexts texts) {
  texts.config = group.broadcast(std::move(texts.config), 0);
  const bool is_there = group.broadcast(std::string(texts.generation ? "1" : ""), 0) == "1";
  texts.generation = group.broadcast(texts.generation.value_or(""), 0);
  if (!is_there) texts.generation.reset();
  auto head = static_cast<std::uint8_t>(texts.head);
  group.broadcast(std::span(&head, 1), 0);
  texts.head = static_cast<StoredHead>(head);
  return texts;
}

LmConfig read_shared_lm_config(const cluster::Group& group, const fs::path& folder,
                               FolderWeights weights) {
  LmConfigTexts texts;
  cluster::run_together(group, [&] {
    if (group.rank() == 0) texts = read_config_texts(folder, weights);
  });
  texts = broadcast_texts(group, std::move(texts));
  LmConfig config;
  cluster::run_together(group, [&] { config = parse_lm_config(folder, texts); });
  return config;
}

}  // namespace mgpu::lm
