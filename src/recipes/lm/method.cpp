#include "method.hpp"

#include <utility>

#include "examples.hpp"

namespace mgpu::recipes {

input::RowOptions LmMethod::row_options(input::RowOptions options) const {
  options.one_of = {"prompt", "messages", "text", "token_ids"};
  options.may_have = {"completion", "completion_ids"};
  return options;
}

void LmMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                      lm::LmExamples& examples) const {
  encoder.add_row(row, examples);
}

const lm::TokenLoss& LmMethod::loss() const {
  return cross_entropy_;
}

}  // namespace mgpu::recipes
