#include "family.hpp"

#include <algorithm>
#include <array>

// The names of all families. Each family NAME has a file families/NAME.cpp that defines
// NAME_family().
#define MGPU_FAMILIES(line) \
  line(gpt2) line(gpt_oss) line(llama) line(mistral) line(qwen2) line(qwen3)

namespace mgpu::lm {

#define MGPU_DECLARE(name) const Family& name##_family();
MGPU_FAMILIES(MGPU_DECLARE)

std::span<const Family* const> families() {
#define MGPU_ENTRY(name) &name##_family(),
  static const std::array kFamilies = {MGPU_FAMILIES(MGPU_ENTRY)};
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
