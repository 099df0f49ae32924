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

/// A row as the model sees it, and what is copied from it.
struct ClassifySample {
  rows::RowFacts facts;
  std::int32_t truth = -1;  // index of the label; -1: it has none
  std::string text;         // columns of the row that tables by group are made of
  std::string group;
  std::string persona;
  std::string source;
  std::vector<std::int64_t> ids;                         // of the prompt; empty: it is left out
  std::vector<std::vector<std::int64_t>> continuations;  // a label each, where labels are scored
};

/// Makes prompts of rows, and the tokens of labels behind them.
///
/// A label is tokenized behind its prompt: all labels of a row are scored behind the tokens that
/// the prompt shares with each of them. A space goes before the label where the prompt ends in a
/// word or a mark such as a colon. With a chat template that has channels (gpt-oss) labels are
/// scored in the final one.
///
/// Errors: Failure E531 (exit 65) for a row that cannot be used where data.on_bad_row is stop, or
///         that is too long where data.too_long is error; E544, E546 of the chat template; Error
///         when the folder has no tokenizer.
class ClassifySampleMaker {
public:
  struct Options {
    ClassifyConfig config;
    PromptStrategy strategy;
    std::vector<std::pair<std::string, std::string>> columns;  // data.columns
    std::int64_t max_length = 0;                               // of prompt and label
    bool may_be_bad = false;  // a row that cannot be used is marked
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
