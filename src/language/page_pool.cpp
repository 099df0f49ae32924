#include <mgpu/base/error.hpp>
#include <mgpu/language/page_pool.hpp>

namespace mgpu::language {
namespace {

constexpr std::int64_t kStretch = 16;  // pages

std::size_t stretch_of(std::int64_t page) {
  return static_cast<std::size_t>(page / kStretch);
}

}  // namespace

PagePool::PagePool(std::int64_t pages)
    : users_(static_cast<std::size_t>(pages), 0), used_(stretch_of(pages + kStretch - 1), 0) {
  for (std::int64_t page = 0; page < pages; ++page)
    free_.insert(free_.end(), page);
  for (std::int64_t first = 0; first < pages; first += kStretch)
    stretches_.insert(stretches_.end(), first);
}

std::int64_t PagePool::take(std::int64_t last) {
  if (free_.empty()) throw ShapeError("PagePool: no page is free");
  auto page = last < 0 ? free_.end() : free_.find(last + 1);
  if (page == free_.end())
    page = stretches_.empty() ? free_.begin() : free_.find(*stretches_.begin());
  const std::int64_t taken = *page;
  free_.erase(page);
  users_[static_cast<std::size_t>(taken)] = 1;
  if (used_[stretch_of(taken)]++ == 0) stretches_.erase(taken / kStretch * kStretch);
  return taken;
}

void PagePool::give_back(std::int64_t page) {
  if (--users_[static_cast<std::size_t>(page)] > 0) return;
  free_.insert(page);
  if (--used_[stretch_of(page)] == 0) stretches_.insert(page / kStretch * kStretch);
}

}  // namespace mgpu::language
