#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::lm {
namespace {

TEST(ModelFolderTest, OtherFieldsOfTheConfigStayInTheirOrder) {
  const testing_support::TemporaryFolder folder;
  write_file_durably(folder.path() / "config.json",
                     R"({"zeta": [1, 2.5, null], "torch_dtype": "bfloat16", "a": {"b": true}})",
                     "model");

  EXPECT_EQ(companion_files(folder.path()).at("config.json"), R"({
  "zeta": [
    1,
    2.5,
    null
  ],
  "a": {
    "b": true
  },
  "dtype": "float32"
}
)");
}

}  // namespace
}  // namespace mgpu::lm
