#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace mgpu::lm {

/// A fixed number of cache pages. For each page, the pool counts the sequences that use the page
/// (its users). An extent is a block of `extent` consecutive pages; the last extent may have fewer.
///
/// Contiguous memory is read faster, so the pool tries to give consecutive pages to a sequence: see
/// take().
class PagePool {
public:
  PagePool(std::int64_t pages, std::int64_t extent);

  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }

  /// Returns the largest number of pages that had users at the same time.
  std::int64_t most_used() const { return most_used_; }

  std::int64_t users(std::int64_t page) const { return users_[static_cast<std::size_t>(page)]; }

  /// Takes a page and returns it: page `last` + 1 if it is free, else the first page of an extent
  /// without used pages, else the lowest free page. `last` is the page before the new page in the
  /// sequence; -1: the new page is the first of the sequence. The returned page has one user.
  /// Errors: ShapeError when no page is free.
  std::int64_t take(std::int64_t last);
  void share(std::int64_t page) { ++users_[static_cast<std::size_t>(page)]; }
  void give_back(std::int64_t page);

private:
  std::int64_t first_of(std::int64_t page) const { return page / extent_ * extent_; }
  std::int64_t& used_around(std::int64_t page) {
    return used_[static_cast<std::size_t>(page / extent_)];
  }

  std::int64_t extent_;
  std::vector<std::int64_t> users_;
  std::vector<std::int64_t> used_;  // number of used pages of each extent
  std::set<std::int64_t> free_;     // pages without users
  std::set<std::int64_t> extents_;  // first page of each extent without used pages
  std::int64_t most_used_ = 0;
};

}  // namespace mgpu::lm
