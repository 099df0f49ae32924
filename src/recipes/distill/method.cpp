#include "method.hpp"

#include <string>

#include <mgpu/rows/json_fields.hpp>

#include "recipes/lm/examples.hpp"

namespace mgpu::recipes {
namespace {

void require_prompt(const formats::JsonValue& row, const lm::LmExamples& encoded) {
  constexpr const char* kWhy =
      ", and distill.on_policy completes prompts: give it `prompt` and "
      "`completion`, or `messages`";
  for (const char* name : {"text", "token_ids"})
    if (rows::member_of(row, name) != nullptr && !rows::member_of(row, "completion_ids"))
      throw formats::JsonError(std::string("it has `") + name + "`" + kWhy);
  if (encoded.is_learned.front() != 0)
    throw formats::JsonError("its prompt has no tokens that distill.on_policy could complete");
}

}  // namespace

void OnPolicyMethod::encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
                            lm::LmExamples& examples) const {
  LmMethod::encode(row, use, encoder, examples);
  if (use == RowUse::training) require_prompt(row, examples);
}

}  // namespace mgpu::recipes
