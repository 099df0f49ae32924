#include "recipes/ad/svg_grid_path.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace mgpu::recipes {
namespace {

using ::testing::HasSubstr;

TEST(GridPathTest, UpIsUp) {
  GridPath path;
  path.goal = {0, 8};  // upper left corner of a 9 x 9 room
  path.cells = {{4, 4}};
  EXPECT_THAT(svg_grid_path(path), HasSubstr("class=\"goal\" x=\"0\" y=\"0\""));
}

}  // namespace
}  // namespace mgpu::recipes
