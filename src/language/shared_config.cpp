#include <utility>

#include <mgpu/language/shared_config.hpp>

namespace mgpu::language {

LmConfigTexts broadcast_texts(const cluster::Group& group, LmConfigTexts texts) {
  texts.config = group.broadcast(std::move(texts.config), 0);
  std::string generation = group.broadcast(texts.generation.value_or(""), 0);
  texts.generation.reset();
  if (!generation.empty()) texts.generation = std::move(generation);
  return texts;
}

LmConfig read_shared_lm_config(const cluster::Group& group, const fs::path& folder) {
  LmConfigTexts texts;
  cluster::run_together(group, [&] {
    if (group.rank() == 0) texts = read_config_texts(folder);
  });
  texts = broadcast_texts(group, std::move(texts));
  LmConfig config;
  cluster::run_together(group, [&] { config = parse_lm_config(folder, texts); });
  return config;
}

}  // namespace mgpu::language
