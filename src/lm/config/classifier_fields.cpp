#include "classifier_fields.hpp"

#include <iterator>

namespace mgpu::lm {

using formats::JsonValue;

namespace {

constexpr std::int64_t kDefaultLabels = 2;  // default of num_labels in transformers

}  // namespace

std::int64_t labels_of(const ConfigFields& fields) {
  if (const JsonValue* labels = fields.find({"id2label"}); labels != nullptr && labels->members())
    return std::ssize(*labels->members());
  return fields.integer_or({"num_labels"}, kDefaultLabels);
}

bool classifies_tokens(const ConfigFields& fields) {
  const JsonValue* names = fields.find({"architectures"});
  const JsonValue::List* list = names == nullptr ? nullptr : names->list();
  const std::string* first = list == nullptr || list->empty() ? nullptr : list->front().text();
  return first != nullptr && first->ends_with("ForTokenClassification");
}

}  // namespace mgpu::lm
