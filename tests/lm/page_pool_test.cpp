#include <set>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/cache/page_pool.hpp>

namespace mgpu::lm {
namespace {

TEST(PagePoolTest, PagesOfSequencesThatGrowInTurnLieOneAfterTheOther) {
  PagePool pool(64, 16);
  std::int64_t first = pool.take(-1);
  std::int64_t second = pool.take(-1);
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(pool.take(first), first + 1);
    EXPECT_EQ(pool.take(second), second + 1);
    ++first;
    ++second;
  }
}

// 20 pages are an extent of 16 and one of 4. The pool gives out each page once, also when the page
// that the caller would like to have is in use.
TEST(PagePoolTest, EveryPageIsOfUse) {
  PagePool pool(20, 16);
  std::set<std::int64_t> taken;
  for (int i = 0; i < 20; ++i)
    taken.insert(pool.take(i % 3 == 0 ? -1 : 7));

  EXPECT_EQ(taken.size(), 20U);
  EXPECT_EQ(*taken.rbegin(), 19);
  EXPECT_EQ(pool.free_pages(), 0);
  EXPECT_THROW(pool.take(-1), ShapeError);
  EXPECT_THROW(pool.take(3), ShapeError);
}

TEST(PagePoolTest, APageIsFreeWhenItsLastUserGivesItBack) {
  PagePool pool(2, 16);
  const std::int64_t page = pool.take(-1);
  pool.share(page);
  EXPECT_EQ(pool.users(page), 2);

  pool.give_back(page);
  EXPECT_EQ(pool.users(page), 1);
  EXPECT_EQ(pool.free_pages(), 1);
  pool.give_back(page);
  EXPECT_EQ(pool.free_pages(), 2);
  EXPECT_EQ(pool.take(-1), page);
}

// A new sequence takes the page after another sequence's last page only if no extent is free.
TEST(PagePoolTest, AStretchThatIsGivenBackIsOneAgain) {
  PagePool pool(32, 16);
  const std::int64_t one = pool.take(-1);
  const std::int64_t two = pool.take(-1);
  EXPECT_EQ(pool.take(-1), 1);  // no extent is free
  pool.give_back(two);

  EXPECT_EQ(pool.take(-1), two);
  EXPECT_EQ(pool.take(one), 2);
}

}  // namespace
}  // namespace mgpu::lm
