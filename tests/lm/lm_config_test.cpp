// Tests which values of config.json are accepted and refused, with generated folders.
#include <cmath>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "lm_config_case.hpp"

namespace mgpu::lm {
namespace {

using testing::HasSubstr;

TEST_F(LmConfigTest, OldSpellingHasTheDefaultsOfTransformers) {
  const LmConfig config = read(std::string(kLlama) + R"(, "torch_dtype": "float16",
      "num_key_value_heads": null, "rope_theta": 500000.0, "rope_scaling": null,
      "eos_token_id": 2, "rms_norm_eps": 1e-5)");

  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.rope.kind, RopeKind::standard);
  EXPECT_DOUBLE_EQ(config.rope.theta, 500000.0);
  EXPECT_EQ(config.stored_type, "float16");
  EXPECT_EQ(config.generation.eos_ids, std::vector<std::int64_t>{2});
  EXPECT_FALSE(config.tied_head);
  EXPECT_EQ(config.layers, (std::vector<LayerConfig>{{0, 0.5}}));
}

TEST_F(LmConfigTest, OldAndNewSpellingOfYarnAreOne) {
  const LmConfig old_one = read(std::string(kLlama) + R"(, "rope_theta": 150000,
      "rope_scaling": {"type": "yarn", "factor": 32.0,
                       "original_max_position_embeddings": 4096}, "torch_dtype": "bfloat16")");
  const LmConfig new_one = read(std::string(kLlama) + R"(, "dtype": "bfloat16",
      "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32.0,
                          "original_max_position_embeddings": 4096})");

  EXPECT_EQ(old_one, new_one);
  EXPECT_NEAR(new_one.rope.attention_factor, 1.34657, 5e-6);  // 0.1 ln 32 + 1
}

TEST_F(LmConfigTest, GenerationConfigGoesOverTheConfig) {
  put("generation_config.json",
      R"({"eos_token_id": [5, 6], "do_sample": true, "temperature": 0.6, "top_p": 0.9})");
  const LmConfig config = read(std::string(kLlama) + R"(, "eos_token_id": 2)");

  EXPECT_EQ(config.generation.eos_ids, (std::vector<std::int64_t>{5, 6}));
  EXPECT_TRUE(config.generation.do_sample);
  EXPECT_DOUBLE_EQ(config.generation.temperature, 0.6);
  EXPECT_DOUBLE_EQ(config.generation.top_p, 0.9);
  EXPECT_EQ(config.generation.top_k, 50);
}

// transformers does not stop in this case (docs/generate.md).
TEST_F(LmConfigTest, AGenerationConfigWithoutEosKeepsThatOfTheConfig) {
  put("generation_config.json", R"({"do_sample": true})");
  EXPECT_EQ(read(std::string(kLlama) + R"(, "eos_token_id": 2)").generation.eos_ids,
            std::vector<std::int64_t>{2});
  put("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(read(std::string(kLlama) + R"(, "eos_token_id": [2, 3])").generation.eos_ids,
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(read(kLlama).generation.eos_ids.empty());
}

TEST_F(LmConfigTest, WhatTheFolderAsksForAndNobodyDoesIsNamed) {
  put("generation_config.json",
      R"({"num_beams": 4, "min_p": 0.0, "typical_p": 0.9, "suppress_tokens": [], "top_h": null,
          "no_repeat_ngram_size": 3, "forced_bos_token_id": 0, "min_length": 0,
          "token_healing": false, "sequence_bias": {}, "stop_strings": ["x"]})");

  const GenerationDefaults folder = read(kLlama).generation;

  EXPECT_EQ(folder.unused, (std::vector<std::string>{"num_beams", "no_repeat_ngram_size",
                                                     "forced_bos_token_id", "stop_strings"}));
  EXPECT_EQ(folder.unused_in_draws, std::vector<std::string>{"typical_p"});
}

TEST_F(LmConfigTest, WhatIsNotSupportedIsRefusedWithTheListOfWhatIs) {
  const ErrorReport report = refusal([&] { read(R"("model_type": "mamba", "vocab_size": 7)"); });
  EXPECT_EQ(report.code, "E701");
  EXPECT_THAT(report.sentence, HasSubstr("`mamba`"));
  EXPECT_THAT(report.lines.at(1), HasSubstr("gpt2, gpt_oss, llama, mistral, qwen2, qwen3"));

  const std::string llama = std::string(kLlama) + ", ";
  expect_refused("", "E701", "no `model_type`");
  expect_refused(llama + R"("rope_scaling": {"rope_type": "longrope"})", "E701", "`longrope`");
  expect_refused(llama + R"("rope_parameters": {"full_attention": {"rope_type": "default"}})",
                 "E701", "layers of type `full_attention`");
  expect_refused(llama + R"("partial_rotary_factor": 0.5)", "E701", "partial_rotary_factor");
  expect_refused(llama + R"("hidden_act": "relu6")", "E701", "`relu6`");
  expect_refused(llama + R"("quantization_config": {"quant_method": "gptq"})", "E701", "`gptq`");
  expect_refused(llama + R"("is_encoder_decoder": true)", "E701", "encoder");
  expect_refused(llama + R"("head_dim": 258)", "E701", "258 wide");
}

TEST_F(LmConfigTest, NonsenseIsRefused) {
  const std::string llama = std::string(kLlama) + ", ";
  expect_refused(R"("model_type": "llama")", "E702", "`vocab_size` is missing");
  expect_refused(R"("model_type": "llama", "vocab_size": 7.5)", "E702", "`vocab_size`");
  expect_refused(R"("model_type": "llama", "vocab_size": 0)", "E702", "`vocab_size`");
  expect_refused(R"("model_type": "llama", "vocab_size": 99999999999)", "E702", "`vocab_size`");
  std::string deep = kLlama;
  const std::string one_layer = "\"num_hidden_layers\": 1";
  deep.replace(deep.find(one_layer), one_layer.size(), "\"num_hidden_layers\": 1000000000");
  expect_refused(deep, "E702", "from 1 to 1024");
  expect_refused(llama + R"("num_key_value_heads": 3)", "E702", "key heads");
  expect_refused(llama + R"("head_dim": 5)", "E702", "odd width");
  expect_refused(llama + R"("rms_norm_eps": "small")", "E702", "`rms_norm_eps`");
  expect_refused(llama + R"("rope_scaling": {"type": "linear"})", "E702", "`factor`");
  expect_refused(llama + R"("rope_scaling": 2)", "E702", "`rope_scaling`");
  expect_refused(llama + R"("eos_token_id": "end")", "E702", "`eos_token_id`");
}

TEST_F(LmConfigTest, HeadsOfQwen3Have128ComponentsByDefault) {
  const LmConfig config = read(R"("model_type": "qwen3", "vocab_size": 7, "hidden_size": 10,
      "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 4,
      "max_position_embeddings": 32)");

  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.layers, (std::vector<LayerConfig>{{0, 1.0 / std::sqrt(128.0)}}));
}

TEST_F(LmConfigTest, GptOssSlidesInEveryOtherLayer) {
  const LmConfig config = read(std::string(kGptOss) + kGptOssRope + R"(, "swiglu_limit": 5.0,
      "quantization_config": {"quant_method": "mxfp4"})");

  EXPECT_EQ(config.layers, (std::vector<LayerConfig>{{128, 0.5}, {0, 0.5}, {128, 0.5}}));
  EXPECT_EQ(config.experts, (ExpertConfig{2, 1, 1.702, 5.0}));
  EXPECT_TRUE(config.qkv_bias && config.out_bias && config.sinks);
  EXPECT_FALSE(config.rope.truncate);
  EXPECT_NEAR(config.rope.attention_factor, 1.34657, 5e-6);
}

TEST_F(LmConfigTest, GptOssSaysWhatItNeeds) {
  const std::string whole = std::string(kGptOss) + kGptOssRope + ", ";
  expect_refused(kGptOss, "E702", "`rope_parameters` is missing");
  expect_refused(whole + R"("experts_per_token": 3)", "E623", "comes twice");
  expect_refused(whole + R"("num_experts_per_tok": 3)", "E702", "more experts");
  expect_refused(whole + R"("swiglu_limit": -1.0)", "E702", "`swiglu_limit`");
  expect_refused(whole + R"("quantization_config": {"quant_method": "gptq"})", "E701", "`gptq`");
  expect_refused(whole + R"("layer_types": ["linear_attention", "full_attention",
                 "full_attention"])",
                 "E701", "`linear_attention`");
  expect_refused(std::string(kLlama) + R"(, "quantization_config": {"quant_method": "mxfp4"})",
                 "E701", "`mxfp4`");
}

TEST_F(LmConfigTest, ExpertsAreSplitByLayersAndByColumns) {
  const LmConfig config = read(std::string(kGptOss) + kGptOssRope);

  EXPECT_EQ(tensor_shards(config, 2).at(1).intermediate, (Range{16, 32}));
  const ErrorReport report = refusal([&] { tensor_shards(config, 4); });
  EXPECT_EQ(report.code, "E126");
  EXPECT_THAT(report.sentence, HasSubstr("attention heads"));
  EXPECT_THAT(report.help, HasSubstr("pipeline"));
  const std::vector<Shard> shards = pipeline_shards(config, std::vector<int>{0, 0, 1});
  EXPECT_EQ(shards.at(1).layers, (Range{2, 3}));
  // 2 experts of 3 x 32 x 32 and their biases, the router, 2 sinks, norms, and attention.
  EXPECT_EQ(weight_bytes(config).layer, static_cast<std::int64_t>(sizeof(float)) *
                                            (2 * (3 * 32 * 32 + 3 * 32) + 2 * 32 + 2 + 2 + 2 * 32 +
                                             2 * (8 * 32 + 4 * 32) + 8 + 4 + 4 + 32));
}

TEST_F(LmConfigTest, VocabulariesThatWouldDrawWithTheSameRandomNumbersTwiceAreRefused) {
  const auto with_tokens = [](const std::string& count) {
    std::string members = kLlama;
    return members.replace(members.find(": 7"), 3, ": " + count);
  };
  expect_refused(with_tokens("1028161"), "E701", "a vocabulary of 1028161 tokens");
  const LmConfig largest = read(with_tokens("1028160"));

  EXPECT_EQ(tensor_shards(largest, 1).size(), 1U);
  const ErrorReport report = refusal([&] { tensor_shards(largest, 2); });
  EXPECT_EQ(report.code, "E126");
  EXPECT_THAT(report.sentence, HasSubstr("1028160 tokens"));
}

TEST_F(LmConfigTest, SinksGoWithTheirHeads) {
  const LmConfig config = read(kLlama);  // 2 heads of width 4
  LmWeights weights;
  weights.layers.resize(1);
  weights.layers[0].q.weight = at::rand({8, 8});
  weights.layers[0].k.weight = at::rand({8, 8});
  weights.layers[0].v.weight = at::rand({8, 8});
  weights.layers[0].out.weight = at::rand({8, 8});
  weights.layers[0].sinks = at::arange(2.0);
  Shard second = tensor_shards(config, 2).at(1);
  second.has_embedding = second.has_head = false;

  const LayerWeights part = shard_weights(config, weights, second).layers.at(0);

  EXPECT_TRUE(part.q.weight.equal(weights.layers[0].q.weight.narrow(0, 4, 4)));
  EXPECT_TRUE(part.sinks.equal(at::full({1}, 1.0)));
}

TEST_F(LmConfigTest, MissingConfigIsMissingInput) {
  const ErrorReport report = refusal([&] { read_lm_config(folder_.path()); });

  EXPECT_EQ(report.code, "E603");
  EXPECT_EQ(report.exit, ExitCode::no_input);
}

}  // namespace
}  // namespace mgpu::lm
