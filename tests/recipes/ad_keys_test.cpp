// Tests how recipe `ad` and the optimizer read their keys.
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/config_reader.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

#include "recipes/ad/settings.hpp"

namespace mgpu::recipes {
namespace {

class AdKeysTest : public testing::Test {
protected:
  AdKeysTest() {
    add_common_keys(table_, {"train"});
    ad::add_model_keys(table_);
    add_data_path_key(table_);
    for (const AddKeys add_keys :
         {ad::add_data_keys, add_evaluate_keys, add_label_smoothing_key, train::add_train_keys,
          train::add_optimizer_keys, store::add_checkpoint_keys})
      add_keys(table_);
  }

  Config read(const std::string& text) {
    ConfigSources sources;
    sources.file = "/conf/run.yaml";
    sources.working_directory = "/work";
    sources.read = [&](const std::filesystem::path& /*path*/) {
      return "schema: 1\njob: train\n" + text;
    };
    return read_config(table_, sources);
  }

  KeyTable table_;
};

TEST_F(AdKeysTest, TheDefaultsAreThoseOfTheStructs) {
  const Config config = read("");
  EXPECT_EQ(ad::read_ad_transformer_config(config), ad::AdTransformerConfig{});
  const train::OptimizerConfig optimizer = train::read_optimizer_config(config);
  EXPECT_EQ(optimizer.adamw.beta2, train::AdamwConfig{}.beta2);
  EXPECT_EQ(optimizer.adamw.weight_decay, train::AdamwConfig{}.weight_decay);
  EXPECT_EQ(optimizer.schedule.peak, 3e-4);
  EXPECT_EQ(optimizer.mixed_precision, tensor::ComputeKind::f32);
}

TEST_F(AdKeysTest, EveryKeyReachesItsField) {
  const Config config = read(
      "model: {tokens: transition, tf_n_embd: 32, tf_n_layer: 2, tf_n_head: 8, tf_dropout: 0.25, "
      "n_transit: 80, attn_impl: eager}\n"
      "train: {max_steps: 100, learning_rate: 0.01, lr_schedule: linear, warmup_steps: 5, "
      "weight_decay: 0.5, adam_beta1: 0.8, adam_beta2: 0.95, adam_epsilon: 1e-6, "
      "max_grad_norm: 0, label_smoothing: 0.1, mixed_precision: bf16}\n");

  const ad::AdTransformerConfig model = ad::read_ad_transformer_config(config);
  EXPECT_EQ(model.tokens, ad::TokenKind::transition);
  EXPECT_EQ(model.attention, ad::AttentionKind::eager);
  EXPECT_EQ(model.n_inner, 64);  // auto: twice tf_n_embd
  EXPECT_EQ(model.n_layer, 2);
  EXPECT_EQ(model.n_head, 8);
  EXPECT_EQ(model.n_transit, 80);
  EXPECT_EQ(model.dropout, 0.25);
  const train::OptimizerConfig optimizer = train::read_optimizer_config(config);
  EXPECT_EQ(optimizer.schedule.shape, train::LrShape::linear);
  EXPECT_EQ(optimizer.schedule.max_steps, 100);
  EXPECT_EQ(optimizer.schedule.warmup_steps, 5);
  EXPECT_EQ(optimizer.adamw.beta1, 0.8);
  EXPECT_EQ(optimizer.adamw.epsilon, 1e-6);
  EXPECT_EQ(optimizer.adamw.max_grad_norm, 0.0);
  EXPECT_EQ(read_ad_settings(config).label_smoothing, 0.1);
  EXPECT_EQ(optimizer.mixed_precision, tensor::ComputeKind::bf16);
}

TEST_F(AdKeysTest, HeadsThatDoNotFitAreRefused) {
  EXPECT_THROW(ad::read_ad_transformer_config(read("model: {tf_n_head: 5}\n")), Failure);
  EXPECT_THROW(ad::read_ad_transformer_config(read("model: {tf_n_embd: 512}\n")), Failure);
  EXPECT_NO_THROW(
      ad::read_ad_transformer_config(read("model: {tf_n_embd: 512, attn_impl: eager}\n")));
}

TEST_F(AdKeysTest, AShortTrialOfALongConfigIsAllowed) {
  const Config config = read("train: {max_steps: 10, warmup_steps: 1000}\n");
  const train::OptimizerConfig optimizer = train::read_optimizer_config(config);
  EXPECT_LT(optimizer.schedule.at(9), 0.011 * optimizer.schedule.peak);
}

}  // namespace
}  // namespace mgpu::recipes
