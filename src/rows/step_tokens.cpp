// The functions of RowEncoder for solutions that consist of steps.
#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/step_tokens.hpp>

namespace mgpu::rows {

StepTokens RowEncoder::encode_steps(const std::string& prompt,
                                    const std::vector<std::string>& steps,
                                    const std::string& separator) const {
  StepTokens tokens{ids_of(prompt, false), {}};
  const std::int64_t bos = folder().bos.id;
  const bool has_bos = bos < 0 || (!tokens.ids.empty() && tokens.ids.front() == bos);
  if (!has_bos) tokens.ids.insert(tokens.ids.begin(), bos);
  if (tokens.ids.empty()) throw formats::JsonError("its `prompt` has no tokens");
  const std::vector<std::int64_t> after = ids_of(separator, false);
  if (after.empty() && !separator.empty())
    throw formats::JsonError("the tokenizer has no tokens for the separator that follows steps");
  for (const std::string& step : steps) {
    const std::vector<std::int64_t> ids = ids_of(step, false);
    if (ids.empty() && after.empty()) throw formats::JsonError("one of its steps has no tokens");
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    tokens.ids.insert(tokens.ids.end(), after.begin(), after.end());
    tokens.ends.push_back(std::ssize(tokens.ids));
  }
  check_ids(tokens.ids);
  return tokens;
}

void RowEncoder::check_step_texts(const StepTokens& tokens, std::int64_t prompt_tokens,
                                  const std::string& text) const {
  check_ids(tokens.ids);
  std::int64_t before = prompt_tokens;
  for (const std::int64_t end : tokens.ends) {
    if (end <= before || end > std::ssize(tokens.ids))
      throw formats::JsonError("the ends of its steps do not ascend to its last token");
    before = end;
  }
  if (!folder_) return;
  const std::vector<text::TokenId> ids(tokens.ids.begin() + prompt_tokens, tokens.ids.end());
  if (folder_->tokenizer.decode(ids, /*skip_special_tokens=*/true) == text) return;
  throw formats::JsonError("its tokens are those of another tokenizer than that of " +
                           options_.folder.string());
}

}  // namespace mgpu::rows
