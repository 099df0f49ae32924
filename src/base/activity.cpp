#include <mgpu/base/activity.hpp>

namespace mgpu {
namespace {

Activity own;
std::atomic<Activity*> current{&own};

}  // namespace

Activity& activity() noexcept {
  return *current.load(std::memory_order_relaxed);
}

void mark_progress() noexcept {
  std::atomic<std::uint64_t>& marks = activity().marks;
  marks.store(marks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void keep_activity_in(Activity* place) noexcept {
  Activity& next = place == nullptr ? own : *place;
  const Activity& before = activity();
  next.phase.set(before.phase.get());
  next.position.set(before.position.get());
  next.death_note.set(before.death_note.get());
  next.marks = before.marks.load() + 1;
  current = &next;
}

}  // namespace mgpu
