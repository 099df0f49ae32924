// Tests which tensors of a model folder are accepted and refused, with generated folders.
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "lm_config_case.hpp"

namespace mgpu::lm {
namespace {

using testing::HasSubstr;

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

/// A gpt_oss folder whose experts' matrices are MXFP4. Every scale is 1, and every value is 0.
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
