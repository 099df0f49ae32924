#include <algorithm>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/cache/page_pool.hpp>

namespace mgpu::lm {

PagePool::PagePool(std::int64_t pages, std::int64_t extent)
    : extent_(std::max<std::int64_t>(extent, 1)),
      users_(static_cast<std::size_t>(pages), 0),
      used_(static_cast<std::size_t>((pages + extent_ - 1) / extent_), 0) {
  for (std::int64_t page = 0; page < pages; ++page)
    free_.insert(free_.end(), page);
  for (std::int64_t first = 0; first < pages; first += extent_)
    extents_.insert(extents_.end(), first);
}

std::int64_t PagePool::take(std::int64_t last) {
  if (free_.empty()) throw ShapeError("PagePool: no page is free");
  auto page = last < 0 ? free_.end() : free_.find(last + 1);
  if (page == free_.end()) page = extents_.empty() ? free_.begin() : free_.find(*extents_.begin());
  const std::int64_t taken = *page;
  free_.erase(page);
  users_[static_cast<std::size_t>(taken)] = 1;
  if (used_around(taken)++ == 0) extents_.erase(first_of(taken));
  most_used_ = std::max(most_used_, std::ssize(users_) - free_pages());
  return taken;
}

void PagePool::give_back(std::int64_t page) {
  if (--users_[static_cast<std::size_t>(page)] > 0) return;
  free_.insert(page);
  if (--used_around(page) == 0) extents_.insert(first_of(page));
}

}  // namespace mgpu::lm
