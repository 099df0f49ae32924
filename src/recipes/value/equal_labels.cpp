#include "equal_labels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <mgpu/rows/json_fields.hpp>

#include "loss.hpp"
#include "recipes/lm/example_lists.hpp"

namespace mgpu::recipes {

std::string prompt_key_of(const formats::JsonValue& row) {
  for (const char* name : {"token_ids", "prompt"})
    if (const formats::JsonValue* prompt = rows::member_of(row, name))
      return formats::to_json_line(*prompt);
  formats::JsonValue::List messages = *row.at("messages").list();
  messages.pop_back();
  return formats::to_json_line(messages);
}

void drop_equal_labels(lm::LmExamples& examples) {
  const lm::LmExamples all = std::exchange(examples, {});
  examples.group_size = all.group_size;
  const std::vector<std::string>& prompts = all.texts.at(kPromptKeys);
  const std::vector<double>& labels = all.sequence_columns.at(kReturnColumn);
  std::map<std::string, std::pair<double, double>> ranges;  // lowest and highest label of a prompt
  for (std::size_t example = 0; example < all.size(); ++example) {
    const double label = labels[example];
    auto& [lowest, highest] = ranges.try_emplace(prompts[example], label, label).first->second;
    lowest = std::min(lowest, label);
    highest = std::max(highest, label);
  }
  for (std::size_t example = 0; example < all.size(); ++example) {
    const auto& [lowest, highest] = ranges.at(prompts[example]);
    if (lowest < highest) append_example(all, example, examples);
  }
  examples.texts.erase(kPromptKeys);
}

}  // namespace mgpu::recipes
