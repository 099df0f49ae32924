#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/row_facts.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

#include "keys.hpp"
#include "prompt_strategy.hpp"

namespace mgpu::jobs {

/// A row, encoded for the model, and the columns that are copied to the results.
struct ClassifySample {
  rows::RowFacts facts;
  std::int32_t truth = -1;  // index of the label; -1: the row has no label
  std::string text;         // columns of the row: text, group, persona, source
  std::string group;
  std::string persona;
  std::string source;
  std::vector<std::int64_t> ids;  // tokens of the prompt; empty: the row is left out
  std::vector<std::vector<std::int64_t>> continuations;  // tokens of each label, if scored
};

/// Makes prompts from rows, and the tokens of the labels that follow the prompts.
///
/// A label is tokenized together with its prompt. The tokens that a prompt shares with its versions
/// with each label are processed once, and the labels are scored after them. A space precedes the
/// label if the prompt ends in a word or a mark such as a colon. With a chat template that has
/// channels (gpt-oss) labels are scored in the final channel.
///
/// Errors: Failure E531 (exit 65) for a row that cannot be used with data.on_bad_row=stop, or that
///         is too long with data.too_long=error; E544, E546 of the chat template; Error when the
///         folder has no tokenizer.
class ClassifySampleMaker {
public:
  struct Options {
    ClassifyConfig config;
    PromptStrategy strategy;
    std::vector<std::pair<std::string, std::string>> columns;  // data.columns
    std::int64_t max_length = 0;  // longest prompt with its label, in tokens
    bool may_be_bad = false;      // mark rows that cannot be used, instead of throwing
    rows::KeptColumns kept{};
  };

  ClassifySampleMaker(text::TextFolder folder, Options options);

  ClassifySample make(const input::Row& row, const fs::path& file) const;

  const text::TextFolder& folder() const { return folder_; }

private:
  void fill(ClassifySample& sample, const formats::JsonValue& row) const;
  void fit(ClassifySample& sample, const input::Row& row, const fs::path& file) const;
  std::string prompt_of(const formats::JsonValue& row) const;
  std::int64_t encode(ClassifySample& sample, const formats::JsonValue& row) const;
  std::vector<std::int64_t> ids_of(const std::string& text) const;

  text::TextFolder folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::jobs
