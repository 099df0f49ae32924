#include <map>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/ad/data_config.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/source.hpp>
#include <mgpu/config/common_keys.hpp>

namespace mgpu::ad {
namespace {

TEST(DataConfigTest, TheTableKnowsTheKeysOfTheModule) {
  KeyTable table;

  add_data_keys(table);
  add_data_path_key(table);

  for (const char* name : {"data.env", "data.env_split_seed", "data.source", "data.source_epsilon",
                           "data.episodes", "data.streams", "data.path"})
    EXPECT_NE(table.find(name), nullptr) << name;
  EXPECT_EQ(table.find("data.env")->choices, environment_names());
  EXPECT_EQ(table.find("data.source")->choices, source_names());
  EXPECT_NE(table.find_accepted("data.num_workers"), nullptr);
}

/// Makes a configuration with defaults, except for the keys in `given`.
Config config_of(const KeyTable& table, const std::map<std::string, std::string>& given) {
  std::map<std::string, Config::Value, std::less<>> values;
  for (const KeySpec& key : table.keys()) {
    const auto found = given.find(key.name);
    values[key.name].text = found == given.end() ? key.default_value : found->second;
  }
  return {table, values};
}

TEST(DataConfigTest, DefaultsAreThoseOfTheQuickStart) {
  KeyTable table;
  add_data_keys(table);
  add_data_path_key(table);

  const DataConfig config = read_data_config(config_of(table, {}));

  EXPECT_EQ(config.env, "darkroom");
  EXPECT_EQ(config.source, "explorer");
  EXPECT_EQ(config.path, "");
  EXPECT_EQ(config.episodes, 8);
  EXPECT_EQ(config.streams, 60);
  EXPECT_DOUBLE_EQ(config.source_epsilon, 0.05);
  EXPECT_EQ(config.env_split_seed, 0U);
}

TEST(DataConfigTest, GivenValuesAreRead) {
  KeyTable table;
  add_data_keys(table);
  add_data_path_key(table);

  const DataConfig config = read_data_config(config_of(table, {{"data.source", "random_walk"},
                                                               {"data.source_epsilon", "0.25"},
                                                               {"data.path", "histories.h5"},
                                                               {"data.episodes", "20"},
                                                               {"data.streams", "7"},
                                                               {"data.env_split_seed", "3"}}));

  EXPECT_EQ(config.source, "random_walk");
  EXPECT_DOUBLE_EQ(config.source_epsilon, 0.25);
  EXPECT_EQ(config.path, "histories.h5");
  EXPECT_EQ(config.episodes, 20);
  EXPECT_EQ(config.streams, 7);
  EXPECT_EQ(config.env_split_seed, 3U);
}

}  // namespace
}  // namespace mgpu::ad
