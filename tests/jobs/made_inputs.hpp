#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <mgpu/config/config.hpp>

#include "lm/made_folder.hpp"
#include "rows/char_tokenizer.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs::test {

using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

/// A Llama with one layer and random weights that knows the tokens of char_tokenizer().
inline const lm::MadeModel kCharModel{.layers = 1,
                                      .width = 16,
                                      .inner = 16,
                                      .heads = 2,
                                      .kv_heads = 1,
                                      .vocab = static_cast<int>(rows::test::kVocab)};

/// Returns kCharModel with one output per token in place of probabilities. `kind` is the field of
/// config.json that describes the output.
inline lm::MadeModel token_scorer(const std::string& kind) {
  lm::MadeModel model = kCharModel;
  model.scores = 1;
  model.more_config =
      R"(, "architectures": ["LlamaForTokenClassification"], "num_labels": 1, )" + kind;
  return model;
}

/// Makes a folder with a model, of kCharModel's tokens, and its tokenizer, and a file of rows.
class MadeInputs {
public:
  explicit MadeInputs(const std::string& rows = "{\"token_ids\": [1]}\n",
                      const std::string& chat = "", const lm::MadeModel& model = kCharModel)
      : model_(folder_.path() / "model") {
    std::filesystem::create_directory(model_);
    lm::make_folder(model_, model);
    write("model/tokenizer.json", rows::test::char_tokenizer());
    write("model/tokenizer_config.json", rows::test::char_files().tokenizer_config);
    if (!chat.empty()) write("model/chat_template.jinja", chat);
    write("rows.jsonl", rows);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }

  /// Returns the configuration of a job on these rows. Keys in `more` are added to it, and replace
  /// equal ones.
  Config config(const std::string& job, const Keys& more = {}) const {
    Keys keys = {{"job", job}, {"model.path", model_}, {"data.path", rows()}};
    for (const auto& [name, value] : more)
      keys[name] = value;
    return config_of(keys);
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  const std::filesystem::path& model() const { return model_; }
  std::filesystem::path rows() const { return folder_.path() / "rows.jsonl"; }

private:
  testing_support::TemporaryFolder folder_;
  std::filesystem::path model_;
};

}  // namespace mgpu::jobs::test
