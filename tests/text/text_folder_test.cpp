// Compares folders with more files than tokenizer.json with transformers:
// tests/oracle/text_folder_goldens.py.
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/text/text_folder.hpp>

#include "golden_hashes.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::size_t kNumTexts = 400;

std::string golden(const std::string& kind) {
  return read_file(kGoldens / (kind + ".json"));
}

TextFiles files_of(const nlohmann::ordered_json& one_case) {
  const auto content = [&](const char* key) {
    const nlohmann::ordered_json& files = one_case["files"];
    return files.contains(key) ? files[key].dump() : "";
  };
  return {.tokenizer = golden(one_case["tokenizer"]),
          .tokenizer_config = content("settings"),
          .special_tokens_map = content("map"),
          .added_tokens = content("added"),
          .config = content("config"),
          .generation_config = "",
          .chat_template = {}};
}

nlohmann::ordered_json described(const SpecialToken& token) {
  if (token.text.empty()) return {nullptr, nullptr};
  return {token.text, token.id};
}

nlohmann::ordered_json outcome(const TextFolder& folder) {
  std::string hashes;
  for (std::size_t i = 0; i < kNumTexts; ++i)
    hashes += hash_of(folder.tokenizer, i);
  return {{"bos", described(folder.bos)},
          {"eos", described(folder.eos)},
          {"pad", described(folder.pad)},
          {"unk", described(folder.unk)},
          {"vocab_size", folder.tokenizer.vocab_size()},
          {"hash", sha256_hex(hashes).substr(0, 16)}};
}

TEST(TextFolderTest, IsReadAsTransformersReadsIt) {
  const auto cases = nlohmann::ordered_json::parse(read_file(kGoldens / "../folders.json"));

  for (const auto& one_case : cases)
    EXPECT_EQ(outcome(parse_text_folder(files_of(one_case), "folder")), one_case["made"])
        << one_case["name"];

  EXPECT_EQ(cases.size(), 151U);
}

// transformers would write a prompt for the gap; <FILL_ME> as a token would be another prompt.
TEST(TextFolderTest, CodeLlamaRefusesTextsWithAGap) {
  TextFiles files;
  files.tokenizer = golden("llama2");
  files.tokenizer_config = R"({"tokenizer_class": "CodeLlamaTokenizer"})";
  EXPECT_THROW(parse_text_folder(files, "folder").tokenizer.encode("a <FILL_ME> b", true), Failure);
  files.tokenizer_config = R"({"tokenizer_class": "CodeLlamaTokenizer", "fill_token": null})";
  EXPECT_FALSE(parse_text_folder(files, "folder").tokenizer.encode("a <FILL_ME> b", true).empty());
}

/// Returns a folder with only a tokenizer.
TextFiles plain_files() {
  TextFiles files;
  files.tokenizer = golden("llama3");
  files.tokenizer_config = R"({"eos_token": "<|eot_id|>"})";
  return files;
}

TEST(TextFolderTest, StopIdsAreThoseOfTheFirstFileThatHasSome) {
  TextFiles files = plain_files();
  EXPECT_THAT(parse_text_folder(files, "folder").stop_ids, ElementsAre(481));
  files.config = R"({"eos_token_id": 7})";
  EXPECT_THAT(parse_text_folder(files, "folder").stop_ids, ElementsAre(7));
  files.generation_config = R"({"eos_token_id": [5, 6]})";
  EXPECT_THAT(parse_text_folder(files, "folder").stop_ids, ElementsAre(5, 6));
}

TEST(TextFolderTest, AChatTemplateFileOutranksTheSettings) {
  TextFiles files = plain_files();
  EXPECT_THAT(parse_text_folder(files, "folder").chat_template, IsEmpty());
  files.tokenizer_config = R"({"chat_template": "in settings"})";
  EXPECT_EQ(parse_text_folder(files, "folder").chat_template, "in settings");
  files.tokenizer_config = R"({"chat_template": [{"name": "tool_use", "template": "for tools"},
                                                 {"name": "default", "template": "listed"}]})";
  EXPECT_EQ(parse_text_folder(files, "folder").chat_template, "listed");
  files.chat_template = "of its own";
  EXPECT_EQ(parse_text_folder(files, "folder").chat_template, "of its own");
  files.chat_template = "";
  EXPECT_THAT(parse_text_folder(files, "folder").chat_template, IsEmpty());
}

TEST(TextFolderTest, ChatTemplatesAreFoundByName) {
  const testing_support::TemporaryFolder folder;
  EXPECT_THAT(read_chat_templates(folder.path()), IsEmpty());
  std::ofstream(folder.path() / "tokenizer_config.json") << R"({"chat_template": "settings"})";
  EXPECT_THAT(read_chat_templates(folder.path()), ElementsAre(Pair("default", "settings")));
  std::ofstream(folder.path() / "tokenizer_config.json")
      << R"({"chat_template": [{"name": "default", "template": "d"},
                               {"name": "rag", "template": "r"}]})";
  std::ofstream(folder.path() / "chat_template.jinja") << "own";
  fs::create_directory(folder.path() / "additional_chat_templates");
  std::ofstream(folder.path() / "additional_chat_templates" / "tool_use.jinja") << "t";

  EXPECT_THAT(read_chat_templates(folder.path()),
              ElementsAre(Pair("default", "own"), Pair("rag", "r"), Pair("tool_use", "t")));
}

std::string refusal(const std::string& settings, const std::string& config) {
  TextFiles files = plain_files();
  files.tokenizer_config = settings;
  files.config = config;
  try {
    parse_text_folder(files, "folder");
  } catch (const Failure& failure) {
    return failure.report().code + " " + failure.report().sentence;
  }
  return "";
}

TEST(TextFolderTest, RefusesByNameWhatItDoesNotDo) {
  EXPECT_THAT(refusal(R"({"tokenizer_class": "GemmaTokenizer"})", "{}"),
              HasSubstr("E542 tokenizer class `GemmaTokenizer` is not supported"));
  EXPECT_THAT(refusal("{}", R"({"model_type": "phi3"})"),
              HasSubstr("E542 the tokenizer of model type `phi3` is not supported"));
  EXPECT_THAT(refusal(R"({"auto_map": {}})", "{}"), HasSubstr("E542 a tokenizer with custom code"));
  EXPECT_THAT(refusal(R"({"split_special_tokens": true})", "{}"),
              HasSubstr("E542 split_special_tokens is not supported"));
  EXPECT_THAT(refusal(R"({"bos_token": {"content": "a"}})", "{}"),
              HasSubstr("E541 malformed tokenizer file: a token is needed"));
  EXPECT_THAT(refusal(R"({"added_tokens_decoder": {"x": {"content": "a"}}})", "{}"),
              HasSubstr("E541 malformed tokenizer file: its key is no token id"));
  EXPECT_THAT(refusal("{", "{}"), HasSubstr("E541"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "{}"),
              HasSubstr("E622 this is a Git LFS pointer"));
}

// transformers writes 10^30 for an unknown length, which exceeds a 64-bit integer.
TEST(TextFolderTest, ReadsNumbersOfAnyLength) {
  TextFiles files = plain_files();
  files.tokenizer_config =
      R"({"model_max_length": 1000000000000000019884624838656, "min": -99999999999999999999,
          "chat_template": "1000000000000000019884624838656 \"99999999999999999999", "last": [
          12345678901234567890123]})";
  EXPECT_EQ(parse_text_folder(files, "folder").chat_template,
            "1000000000000000019884624838656 \"99999999999999999999");
  EXPECT_THAT(refusal(R"({"model_max_length": 1000000000000000000000x})", "{}"), HasSubstr("E541"));
}

TEST(TextFolderTest, NamesTheFileThatIsMissing) {
  EXPECT_THROW(read_text_files("/nonexistent"), Failure);
}

}  // namespace
}  // namespace mgpu::text
