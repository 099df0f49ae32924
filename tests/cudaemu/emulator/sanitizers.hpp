// Informs the sanitizers about fibers, because the emulator, which switches fibers, is compiled
// without sanitizers. ThreadSanitizer treats each fiber as a thread.
#pragma once

#include <cstddef>

namespace cudaemu {

#ifdef CUDAEMU_TSAN
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
}
#endif
#ifdef CUDAEMU_ASAN
extern "C" void __asan_unpoison_memory_region(void const volatile* begin, std::size_t bytes);
#endif

/// A fiber as ThreadSanitizer knows it.
class WatchedFiber {
public:
  static WatchedFiber current() {
    WatchedFiber fiber;
#ifdef CUDAEMU_TSAN
    fiber.handle_ = __tsan_get_current_fiber();
#endif
    return fiber;
  }

  static WatchedFiber make() {
    WatchedFiber fiber;
#ifdef CUDAEMU_TSAN
    fiber.handle_ = __tsan_create_fiber(0);
#endif
    return fiber;
  }

  /// Announces a switch of stacks just before it. Does not order the fibers' accesses.
  void announce() const {
#ifdef CUDAEMU_TSAN
    constexpr unsigned kNoOrder = 1;
    __tsan_switch_to_fiber(handle_, kNoOrder);
#endif
  }

  /// Ends the fiber. Orders everything that it did before the next accesses of `caller`.
  void destroy([[maybe_unused]] const WatchedFiber& caller) const {
#ifdef CUDAEMU_TSAN
    __tsan_switch_to_fiber(handle_, 0);
    __tsan_switch_to_fiber(caller.handle_, 0);
    __tsan_destroy_fiber(handle_);
#endif
  }

private:
#ifdef CUDAEMU_TSAN
  void* handle_ = nullptr;
#endif
};

/// A synchronization point: accesses before release() happen before those after acquire().
class Moment {
public:
  void release() {
#ifdef CUDAEMU_TSAN
    __tsan_release(&tag_);
#endif
  }
  void acquire() {
#ifdef CUDAEMU_TSAN
    __tsan_acquire(&tag_);
#endif
  }

private:
  [[maybe_unused]] char tag_ = 0;
};

/// Makes all bytes of a stack accessible again, because its functions will never return.
inline void forget_stack([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef CUDAEMU_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace cudaemu
