#include "example_lists.hpp"

#include <cstdint>
#include <vector>

namespace mgpu::recipes {
namespace {

template <class T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
void append_part(const std::vector<T>& from, std::int64_t begin, std::int64_t end,
                 std::vector<T>& to) {
  to.insert(to.end(), from.begin() + begin, from.begin() + end);
}

}  // namespace

void append_examples(const lm::LmExamples& from, lm::LmExamples& to) {
  const std::int64_t before = std::ssize(to.ids);
  append(from.ids, to.ids);
  append(from.is_learned, to.is_learned);
  for (const std::int64_t end : from.ends)
    to.ends.push_back(before + end);
  for (const auto& [name, values] : from.token_columns)
    append(values, to.token_columns[name]);
  for (const auto& [name, values] : from.sequence_columns)
    append(values, to.sequence_columns[name]);
  for (const auto& [name, texts] : from.texts)
    append(texts, to.texts[name]);
}

void append_example(const lm::LmExamples& from, std::size_t example, lm::LmExamples& to) {
  const std::int64_t begin = from.begin(example);
  const std::int64_t end = from.ends[example];
  append_part(from.ids, begin, end, to.ids);
  append_part(from.is_learned, begin, end, to.is_learned);
  to.ends.push_back(std::ssize(to.ids));
  for (const auto& [name, values] : from.token_columns)
    append_part(values, begin, end, to.token_columns[name]);
  for (const auto& [name, values] : from.sequence_columns)
    to.sequence_columns[name].push_back(values[example]);
  for (const auto& [name, texts] : from.texts)
    to.texts[name].push_back(texts[example]);
}

}  // namespace mgpu::recipes
