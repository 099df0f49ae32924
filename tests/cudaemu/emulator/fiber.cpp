#include "fiber.hpp"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>

// Saves the callee-saved registers on the current stack, and the top of this stack in `*from`. Then
// continues on the stack with the top `to`, with the registers that were saved there.
extern "C" void cudaemu_hand_over(void** from, void* to);
asm(R"(
.text
.globl cudaemu_hand_over
.type cudaemu_hand_over,@function
cudaemu_hand_over:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size cudaemu_hand_over,.-cudaemu_hand_over
)");

namespace cudaemu {
namespace {

constexpr std::size_t kPage = 4096;
// Stacks have an odd number of pages and begin at different offsets. Otherwise, the stacks would
// share a few cache sets.
constexpr std::size_t kStackBytes = 65 * kPage;
constexpr std::size_t kTopStep = 320;
constexpr std::size_t kTops = 64;
constexpr int kSavedRegisters = 6;

/// Returns a new stack whose lowest page is protected, so that an overflow causes a fault.
char* new_stack() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kPage, PROT_NONE) != 0) {
    std::perror("cudaemu: no memory for stacks");
    std::abort();
  }
  return static_cast<char*>(memory);
}

}  // namespace

Fiber Fiber::current() {
  Fiber fiber;
  fiber.watched_ = WatchedFiber::current();
  return fiber;
}

void Fiber::begin(void (*main)(), std::size_t index) {
  if (stack_ == nullptr) {
    stack_ = new_stack();
    watched_ = WatchedFiber::make();
  }
  const std::size_t lower = 64 + index % kTops * kTopStep;
  auto* top = reinterpret_cast<void**>(stack_ + kStackBytes - lower);
  *--top = nullptr;  // the place of a return address
  *--top = reinterpret_cast<void*>(main);
  for (int i = 0; i < kSavedRegisters; ++i)
    *--top = nullptr;
  top_ = top;
}

void Fiber::abandon(const Fiber& caller) {
  if (stack_ == nullptr) return;
  forget_stack(stack_ + kPage, kStackBytes - kPage);
  watched_.destroy(caller.watched_);
  watched_ = WatchedFiber::make();
}

void Fiber::hand_over(Fiber& from, Fiber& to) {
  to.watched_.announce();
  cudaemu_hand_over(&from.top_, to.top_);
}

}  // namespace cudaemu
