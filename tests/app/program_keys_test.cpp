#include <regex>

#include <gtest/gtest.h>

#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/foreign_names.hpp>

namespace mgpu::app {
namespace {

TEST(ProgramKeysTest, EveryForeignNameIsTranslatedIntoAKeyThatIsThere) {
  for (const ForeignName& foreign : foreign_names()) {
    if (foreign.key.empty()) continue;
    EXPECT_NE(program_keys().find(foreign.key), nullptr) << foreign.name << ": " << foreign.key;
  }
}

TEST(ProgramKeysTest, KeysThatATranslationMentionsAreThere) {
  const std::regex quoted_key("`([a-z_]+\\.[a-z_]+)[`:]");
  for (const ForeignName& foreign : foreign_names()) {
    const std::string help(foreign.help);
    for (std::sregex_iterator at(help.begin(), help.end(), quoted_key), end; at != end; ++at) {
      EXPECT_NE(program_keys().find((*at)[1].str()), nullptr) << foreign.name << ": " << help;
    }
  }
}

TEST(ProgramKeysTest, NoForeignNameIsAKey) {
  for (const ForeignName& foreign : foreign_names()) {
    EXPECT_EQ(program_keys().find_called(foreign.name), nullptr) << foreign.name;
    EXPECT_FALSE(foreign.help.empty()) << foreign.name;
  }
}

}  // namespace
}  // namespace mgpu::app
