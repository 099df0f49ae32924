// Tests which values of config.json are accepted and refused, with generated folders.
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::lm {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama =
    R"("model_type": "llama", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 6,
       "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32)";

class LmConfigTest : public testing::Test {
protected:
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
  }

  LmConfig read(const std::string& members) {
    put("config.json", "{" + members + "}");
    return read_lm_config(folder_.path());
  }

  ErrorReport refusal(const std::function<void()>& call) {
    try {
      call();
      return {};
    } catch (const Failure& failure) {
      return failure.report();
    }
  }

  void expect_refused(const std::string& members, const std::string& code,
                      const std::string& reason) {
    const ErrorReport report = refusal([&] { read(members); });
    EXPECT_EQ(report.code, code) << members;
    EXPECT_EQ(report.exit, ExitCode::data);
    EXPECT_THAT(report.sentence, HasSubstr(reason));
    EXPECT_THAT(report.lines.at(0), HasSubstr("config.json"));
  }

  testing_support::TemporaryFolder folder_;
};

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

constexpr const char* kGptOss =
    R"("model_type": "gpt_oss", "vocab_size": 7, "hidden_size": 32, "intermediate_size": 32,
       "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
       "max_position_embeddings": 131072, "num_local_experts": 2, "experts_per_token": 1,
       "sliding_window": 128)";
constexpr const char* kGptOssRope = R"(, "rope_theta": 150000, "rope_scaling": {
       "rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096,
       "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false})";

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

/// A folder with a complete small Llama, which tests damage.
class LmWeightsTest : public LmConfigTest {
protected:
  LmWeightsTest() : config_(read(kLlama)) {
    for (const tensor::ParameterSpec& spec : weight_specs(config_))
      tensors_[spec.name] = at::full(spec.shape, 0.25, at::TensorOptions().dtype(at::kFloat));
  }

  void write() {
    fs::remove(folder_.path() / "model.safetensors");
    std::vector<formats::NamedTensor> views;
    for (const auto& [name, tensor] : tensors_)
      views.push_back({name, tensor.sizes().vec(), tensor::view_of(tensor)});
    formats::write_safetensors(folder_.path() / "model.safetensors", views, {});
  }

  ErrorReport load_refusal() {
    write();
    return refusal([&] { LanguageModel::open(folder_.path()); });
  }

  LmConfig config_;
  std::map<std::string, at::Tensor> tensors_;
};

TEST_F(LmWeightsTest, WholeFolderLoadsWithOrWithoutThePrefix) {
  EXPECT_EQ(load_refusal().code, "");

  tensors_["norm.weight"] = tensors_["model.norm.weight"];
  tensors_.erase("model.norm.weight");
  tensors_["model.layers.0.self_attn.rotary_emb.inv_freq"] = at::zeros({2});
  EXPECT_EQ(load_refusal().code, "");
}

TEST_F(LmWeightsTest, AStoredHeadOfATiedModelDecides) {
  config_ = read(std::string(kLlama) + R"(, "tie_word_embeddings": true)");
  const at::Tensor embedding = tensors_.at("model.embed_tokens.weight");
  embedding[0].zero_();
  const auto head_of_folder = [&](const at::Tensor& head) {
    tensors_["lm_head.weight"] = head;
    EXPECT_EQ(load_refusal().code, "");
    const LmConfig config = read_lm_config(folder_.path());
    EXPECT_EQ(config.tied_head, config.stored_head != StoredHead::untied);
    EXPECT_EQ(head_note(folder_.path(), config).empty(), config.tied_head);
    EXPECT_TRUE(read_lm_config(folder_.path(), FolderWeights::ignored).tied_head);
    return config.stored_head;
  };

  EXPECT_EQ(head_of_folder(embedding.clone()), StoredHead::as_configured);
  EXPECT_EQ(head_of_folder(embedding.to(at::kHalf)), StoredHead::as_configured);
  at::Tensor other = embedding.clone();
  other[0].neg_();  // -0 equals 0
  EXPECT_EQ(head_of_folder(other.clone()), StoredHead::as_configured);
  other[6][7] = 1.0;
  EXPECT_EQ(head_of_folder(other), StoredHead::untied);
  tensors_.erase("model.embed_tokens.weight");
  EXPECT_EQ(head_of_folder(other), StoredHead::is_embedding);
  EXPECT_TRUE(LanguageModel::open(folder_.path()).weights().embedding.equal(other));

  tensors_["model.embed_tokens.weight"] = embedding;
  tensors_["lm_head.weight"] = at::zeros({8, 8});
  EXPECT_THAT(load_refusal().lines, testing::Contains(HasSubstr("lm_head.weight is [8, 8]")));
}

TEST_F(LmWeightsTest, MissingLeftOverAndMisshapenTensorsAreNamed) {
  tensors_.erase("model.layers.0.mlp.up_proj.weight");
  tensors_["model.layers.7.mlp.up_proj.weight"] = at::zeros({6, 8});
  tensors_["model.norm.weight"] = at::zeros({9});
  tensors_["lm_head.weight"] = at::zeros({7, 8}, at::kLong);

  const ErrorReport report = load_refusal();

  EXPECT_EQ(report.code, "E705");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_THAT(report.sentence, HasSubstr("4 tensors"));
  EXPECT_THAT(report.lines,
              testing::Contains(HasSubstr("missing: model.layers.0.mlp.up_proj.weight [6, 8]")));
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("left over: model.layers.7")));
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("model.norm.weight is [9], not [8]")));
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("lm_head.weight is I64")));
}

/// A gpt_oss folder whose experts' matrices are MXFP4 with scales of 1 and zeros.
class Mxfp4Test : public LmWeightsTest {
protected:
  Mxfp4Test() {
    tensors_.clear();
    config_ = read(std::string(kGptOss) + kGptOssRope);
    for (const tensor::ParameterSpec& spec : weight_specs(config_)) {
      const bool is_matrix =
          spec.name.ends_with("gate_up_proj") || spec.name.ends_with("down_proj");
      if (!is_matrix) {
        tensors_[spec.name] = at::zeros(spec.shape);
        continue;
      }
      const std::int64_t outputs = spec.shape[2];
      tensors_[spec.name + "_blocks"] = at::zeros({2, outputs, 1, 16}, at::kByte);
      tensors_[spec.name + "_scales"] = at::full({2, outputs, 1}, 127, at::kByte);
    }
  }

  LmWeights load() {
    write();
    return load_weights(config_, formats::WeightFiles(folder_.path()));
  }

  at::Tensor& gate_up(const std::string& kind) {
    return tensors_["model.layers.1.mlp.experts.gate_up_proj_" + kind];
  }
};

// Expected values by hand: 0x21 is 0.5 and 1, 0xF7 is 6 and -6; 2^-127 is the smallest scale.
TEST_F(Mxfp4Test, BlocksAreDecodedExactly) {
  gate_up("blocks")[1][6][0][0] = 0x21;  // output 6 is gate 3, 7 is up 3
  gate_up("blocks")[1][7][0][15] = 0xF7;
  gate_up("scales")[1][6][0] = 0;
  gate_up("scales")[1][7][0] = 130;

  const Expert expert = load().layers[1].experts[1];

  EXPECT_EQ(expert.gate.weight[3][0].item<float>(), std::ldexp(1.0F, -128));
  EXPECT_EQ(expert.gate.weight[3][1].item<float>(), std::ldexp(1.0F, -127));
  EXPECT_EQ(expert.up.weight[3][30].item<float>(), 48.0F);
  EXPECT_EQ(expert.up.weight[3][31].item<float>(), -48.0F);
  EXPECT_EQ(at::count_nonzero(expert.gate.weight).item<std::int64_t>(), 2);
  EXPECT_EQ(at::count_nonzero(expert.up.weight).item<std::int64_t>(), 2);
}

TEST_F(Mxfp4Test, ScalesThatAreNoNumbersAreRefused) {
  gate_up("scales")[0][0][0] = 255;
  const ErrorReport report = load_refusal();
  EXPECT_EQ(report.code, "E706");
  EXPECT_THAT(report.lines.at(1), HasSubstr("gate_up_proj_blocks"));
}

TEST_F(Mxfp4Test, BlocksOfOtherShapesAndTypesAreNamed) {
  gate_up("scales") = at::full({2, 64, 2}, 127, at::kByte);
  tensors_["model.layers.0.mlp.experts.down_proj_blocks"] = at::zeros({2, 32, 1, 16}, at::kInt);
  tensors_.erase("model.layers.2.mlp.experts.down_proj_scales");

  const ErrorReport report = load_refusal();

  EXPECT_EQ(report.code, "E705");
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("with scales [2, 64, 2], not U8")));
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("down_proj_blocks are I32")));
  EXPECT_THAT(report.lines, testing::Contains(HasSubstr("missing: model.layers.2.mlp.experts")));
}

TEST_F(LmWeightsTest, ValuesThatAreNotFiniteAreRefused) {
  tensors_["model.norm.weight"][3] = std::numeric_limits<float>::quiet_NaN();

  const ErrorReport report = load_refusal();
  EXPECT_EQ(report.code, "E706");
  EXPECT_THAT(report.lines.at(1), HasSubstr("model.norm.weight"));
}

}  // namespace
}  // namespace mgpu::lm
