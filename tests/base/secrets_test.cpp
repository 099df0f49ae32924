#include <gtest/gtest.h>

#include <mgpu/base/secrets.hpp>

namespace mgpu {
namespace {

TEST(SecretsTest, NamesTell) {
  for (const char* name :
       {"HF_TOKEN", "hub.api_key", "db-password", "MGPU_AUTH", "OMPI_CREDENTIALS",
        "AWS_SECRET_ACCESS_KEY", "SLURM_PASS", "hftoken", "--hub-token", "apikey", "SLURM_JWT",
        "OMP_SECRETPASS", "db.pw", "userpass"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"generate.max_new_tokens", "tokens_per_second", "key", "model.tokens",
                           "text.tokenizer", "authors", "bypass", "SLURM_JOB_ID", ""})
    EXPECT_FALSE(is_secret_name(name)) << name;
  EXPECT_EQ(shown_value("HF_TOKEN", "1"), "***");
  EXPECT_EQ(shown_value("HF_HOME", "1"), "1");
}

TEST(SecretsTest, LinesLoseWhatLooksLikeOne) {
  EXPECT_EQ(redact("what: token=hunter2hunter2, loss: 0.5"), "what: token=***, loss: 0.5");
  EXPECT_EQ(redact("Authorization: Bearer abcdefgh"), "Authorization: Bearer ***");
  EXPECT_EQ(redact("{\"api_key\": \"abcdefgh\"}"), "{\"api_key\": \"***\"}");
  EXPECT_EQ(redact("hf_abcdefghijklmnop"), "hf_***");
  EXPECT_EQ(redact("tokens: 123456789 token: 123456789"), "tokens: 123456789 token: 123456789");
  EXPECT_EQ(redact("train.max_steps=100000"), "train.max_steps=100000");
  EXPECT_EQ(redact("pw=abcdefgh"), "pw=***");
  EXPECT_EQ(redact("http://user:abc@host:80/a@b ftp://x@y"), "http://***@host:80/a@b ftp://***@y");
  EXPECT_EQ(redact("https://host/a@b"), "https://host/a@b");
}

}  // namespace
}  // namespace mgpu
