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

/// A row of the data: its tokens for the model, and the columns that are copied to the results.
struct ClassifySample {
  rows::RowFacts facts;
  std::int32_t truth = -1;  // index of the row's label in classify.labels; -1: the row has no label
  std::string text;         // text to classify, not cut
  std::string group;        // group of the row; "": none
  std::string persona;      // column `persona_tag` of the row; "": none
  std::string source;       // column `source_dataset` of the row; "": none
  /// Tokens of the prompt; empty if the row is left out. If labels are scored, the prompt is
  /// tokenized alone and once with each label. In this case `ids` has only the tokens with which
  /// all these sequences begin.
  std::vector<std::int64_t> ids;
  /// If labels are scored, the tokens that follow `ids` for each label.
  std::vector<std::vector<std::int64_t>> continuations;
};

/// Makes prompts from rows, and the tokens of the labels that follow a prompt.
///
/// The prompt is tokenized together with each label. The tokens with which all these sequences
/// begin are processed once; the remaining tokens of each sequence are scored as the label.
/// rows::label_after() decides whether a space precedes the label. With a chat template that has
/// channels (gpt-oss), labels are scored in the final channel.
///
/// Errors: Failure E531 (exit 65) with data.on_bad_row=stop for a row that cannot be used, and with
///         data.too_long=error for a row that is too long; E544 (not understood), E546 (not in
///         this build) or E547 (beyond the limits) for the chat template.
class ClassifyEncoder {
public:
  struct Options {
    ClassifyConfig config;
    PromptStrategy strategy;
    std::vector<std::pair<std::string, std::string>> columns;  // data.columns
    /// Largest number of tokens of a prompt. If labels are scored, the label counts too.
    std::int64_t max_length = 0;
    /// If true, rows that cannot be used get RowStatus::bad_row; otherwise they are errors.
    bool may_be_bad = false;
    rows::KeptColumns kept{};
  };

  ClassifyEncoder(text::TextFolder folder, Options options);

  ClassifySample encode(const input::Row& row, const fs::path& file) const;

  const text::TextFolder& folder() const { return folder_; }

private:
  void fill(ClassifySample& sample, const formats::JsonValue& row) const;
  void fit(ClassifySample& sample, const input::Row& row, const fs::path& file) const;
  std::string prompt_of(const formats::JsonValue& row) const;
  std::int64_t fill_ids(ClassifySample& sample, const formats::JsonValue& row) const;
  std::vector<std::int64_t> ids_of(const std::string& text) const;

  text::TextFolder folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::jobs
