#include "family.hpp"

#include <algorithm>
#include <array>

namespace mgpu::lm {

std::span<const Family* const> families() {
  static const std::array kFamilies = {&gpt2_family(),    &gpt_oss_family(), &llama_family(),
                                       &mistral_family(), &qwen2_family(),   &qwen3_family()};
  return kFamilies;
}

const Family* find_family(std::string_view name) {
  const auto all = families();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Family* family) { return family->name == name; });
  return found == all.end() ? nullptr : *found;
}

std::string family_names() {
  std::string names;
  for (const Family* family : families())
    names.append(names.empty() ? "" : ", ").append(family->name);
  return names;
}

}  // namespace mgpu::lm
