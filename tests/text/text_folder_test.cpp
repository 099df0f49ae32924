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

std::string golden(const std::string& kind) {
  return read_file(kGoldens / (kind + ".json"));
}

TextFiles files_of(const nlohmann::ordered_json& one_case) {
  const auto content = [&](const char* key) {
    const nlohmann::ordered_json& files = one_case["files"];
    return files.contains(key) ? files[key].dump() : "";
  };
  const std::string kind = one_case["tokenizer"];
  const bool has_pieces = kind == "pieces";
  return {.tokenizer = has_pieces ? "" : golden(kind),
          .sentence_pieces = has_pieces ? read_file(kGoldens / "pieces.model") : "",
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

nlohmann::ordered_json outcome(const TextFolder& folder, std::size_t num_texts) {
  std::string hashes;
  for (std::size_t i = 0; i < num_texts; ++i)
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
    EXPECT_EQ(outcome(parse_text_folder(files_of(one_case), "folder"), one_case["num_texts"]),
              one_case["made"])
        << one_case["name"];

  EXPECT_EQ(cases.size(), 169U);
}

// transformers makes an infilling prompt from a text with a gap. With <FILL_ME> as an ordinary
// token the prompt would be another one, so such texts are refused.
TEST(TextFolderTest, CodeLlamaRefusesTextsWithAGap) {
  TextFiles files;
  files.tokenizer = golden("llama2");
  files.tokenizer_config = R"({"tokenizer_class": "CodeLlamaTokenizer"})";
  EXPECT_THROW(parse_text_folder(files, "folder").tokenizer.encode("a <FILL_ME> b", true), Failure);
  files.tokenizer_config = R"({"tokenizer_class": "CodeLlamaTokenizer", "fill_token": null})";
  EXPECT_FALSE(parse_text_folder(files, "folder").tokenizer.encode("a <FILL_ME> b", true).empty());
}

/// Returns the code of the refusal of a tokenizer.model; "" if it is read.
std::string code_of_pieces(const std::string& model, const std::string& kind = "LlamaTokenizer") {
  TextFiles files;
  files.sentence_pieces = model;
  files.tokenizer_config = R"({"tokenizer_class": ")" + kind + R"("})";
  try {
    parse_text_folder(files, "folder");
  } catch (const Failure& failure) {
    return failure.report().code;
  }
  return "";
}

TEST(TextFolderTest, RefusesPiecesOfOtherRulesAndDamagedOnes) {
  const std::string model = read_file(kGoldens / "pieces.model");
  EXPECT_EQ(code_of_pieces(model), "");
  for (const char* kind : {"PreTrainedTokenizerFast", "GPT2Tokenizer", "GPTNeoXTokenizer"})
    EXPECT_EQ(code_of_pieces(model, kind), "E542");
  EXPECT_EQ(code_of_pieces(model + std::string("\x12\x02\x18\x01", 4)), "E542");      // unigram
  EXPECT_EQ(code_of_pieces(model + std::string("\x1a\x03\x12\x01x", 5)), "E542");     // normalizes
  EXPECT_EQ(code_of_pieces(model + std::string("\x0a\x03\x0a\x01\xff", 5)), "E541");  // not UTF-8
  EXPECT_EQ(code_of_pieces(model + std::string("\x0a\x05\x0a\x03<s>", 7)), "E541");   // twice
  for (std::size_t size = 1; size < model.size(); size += 37)
    EXPECT_NE(code_of_pieces(model.substr(0, size)), "") << size;
}

TEST(TextFolderTest, PiecesCountWithoutATokenizerJsonAndForTheirClassesOnly) {
  const testing_support::TemporaryFolder folder;
  EXPECT_FALSE(has_tokenizer(folder.path()));
  fs::copy(kGoldens / "pieces.model", folder.path() / "tokenizer.model");
  EXPECT_FALSE(has_tokenizer(folder.path()));  // no class is named
  for (const auto& [kind, is_read] :
       {std::pair("CodeLlamaTokenizerFast", true), std::pair("T5Tokenizer", false),
        std::pair("LlamaTokenizer", true)}) {
    std::ofstream(folder.path() / "tokenizer_config.json")
        << R"({"tokenizer_class": ")" << kind << R"("})";
    EXPECT_EQ(has_tokenizer(folder.path()), is_read) << kind;
  }
  EXPECT_FALSE(read_text_files(folder.path()).sentence_pieces.empty());
  fs::copy(kGoldens / "llama2.json", folder.path() / "tokenizer.json");
  EXPECT_TRUE(read_text_files(folder.path()).sentence_pieces.empty());
}

/// Returns the files of a folder with a tokenizer and its eos token, and without a chat template.
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
  EXPECT_EQ(code_of_pieces("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "E622");
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
