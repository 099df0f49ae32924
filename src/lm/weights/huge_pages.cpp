#include "huge_pages.hpp"

#include <cstddef>
#include <new>

#include <ATen/ATen.h>
#include <sys/mman.h>

namespace mgpu::lm {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

at::Tensor zeros_in_huge_pages(std::int64_t count) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (count == 0) return at::empty({0}, options);
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  // Maps one more huge page than the tensor needs, so that the tensor can start at the border of a
  // huge page.
  const std::size_t mapped = (bytes + 2 * kHugePage - 1) / kHugePage * kHugePage;
  void* region =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  ::madvise(region, mapped, MADV_HUGEPAGE);  // a hint; failure is harmless
  const auto address = reinterpret_cast<std::uintptr_t>(region);
  const std::size_t shift = (kHugePage - address % kHugePage) % kHugePage;
  return at::from_blob(
      static_cast<std::byte*>(region) + shift, {count},
      [region, mapped](void*) { ::munmap(region, mapped); }, options);
}

at::Tensor HugePageArena::take(at::IntArrayRef shape, at::ScalarType type) {
  const std::int64_t count = c10::multiply_integers(shape);
  const auto size = static_cast<std::int64_t>(c10::elementSize(type));
  const std::int64_t bytes = rounded_up(count * size);
  const at::Tensor part = memory_.narrow(0, used_ / 4, bytes / 4).view(type);
  used_ += bytes;
  return part.narrow(0, 0, count).view(shape);
}

}  // namespace mgpu::lm
