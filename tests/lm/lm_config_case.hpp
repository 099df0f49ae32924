#pragma once

#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::lm {

inline constexpr const char* kLlama =
    R"("model_type": "llama", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 6,
       "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32)";

inline constexpr const char* kGptOss =
    R"("model_type": "gpt_oss", "vocab_size": 7, "hidden_size": 32, "intermediate_size": 32,
       "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
       "max_position_embeddings": 131072, "num_local_experts": 2, "experts_per_token": 1,
       "sliding_window": 128)";
inline constexpr const char* kGptOssRope = R"(, "rope_theta": 150000, "rope_scaling": {
       "rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096,
       "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false})";

/// Writes a config.json to a folder, and reads it or returns why it is refused.
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
    EXPECT_THAT(report.sentence, testing::HasSubstr(reason));
    EXPECT_THAT(report.lines.at(0), testing::HasSubstr("config.json"));
  }

  testing_support::TemporaryFolder folder_;
};

}  // namespace mgpu::lm
