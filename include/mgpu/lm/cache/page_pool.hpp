#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace mgpu::lm {

/// Pages of a fixed number, each with a count of its users. Sequences of up to `stretch` pages have
/// theirs one after the other while a stretch is free for each: memory is read faster that way.
class PagePool {
public:
  PagePool(std::int64_t pages, std::int64_t stretch);

  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t users(std::int64_t page) const { return users_[static_cast<std::size_t>(page)]; }

  /// The page behind `last` if it is free (-1: there is no last one), else the first of a stretch
  /// that nobody uses, else any. It has one user.
  /// Errors: ShapeError when no page is free.
  std::int64_t take(std::int64_t last);
  void share(std::int64_t page) { ++users_[static_cast<std::size_t>(page)]; }
  void give_back(std::int64_t page);

private:
  std::int64_t first_of(std::int64_t page) const { return page / stretch_ * stretch_; }
  std::int64_t& used_around(std::int64_t page) {
    return used_[static_cast<std::size_t>(page / stretch_)];
  }

  std::int64_t stretch_;
  std::vector<std::int64_t> users_;
  std::vector<std::int64_t> used_;    // pages of each stretch that somebody uses
  std::set<std::int64_t> free_;       // pages
  std::set<std::int64_t> stretches_;  // that nobody uses
};

}  // namespace mgpu::lm
