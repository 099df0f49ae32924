// What the sanitizers are told about fibers, for they see only the kernels: the emulator itself is
// compiled without them. ThreadSanitizer takes each fiber for a thread.
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

  /// Called just before the stack changes. Does not order what the fibers do.
  void announce() const {
#ifdef CUDAEMU_TSAN
    constexpr unsigned kNoOrder = 1;
    __tsan_switch_to_fiber(handle_, kNoOrder);
#endif
  }

  /// Everything that the fiber did comes before what the caller does next.
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

/// A moment that orders memory: what came before release() comes before what follows acquire().
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

/// A stack whose functions will never return is free again.
inline void forget_stack([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef CUDAEMU_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace cudaemu
