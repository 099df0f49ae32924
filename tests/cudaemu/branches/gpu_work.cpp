#include "gpu_work.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <mgpu/tensor/read_back.hpp>

#include "cudaemu/launch.hpp"

namespace mgpu::emulated {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::int64_t> calls;  // by name
  std::int64_t leaves = 0;
};

Counts& counts() {
  static Counts all;
  return all;
}

/// The number of calls that this thread has counted so far.
thread_local std::int64_t counted = 0;

struct Before : at::ObserverContext {
  explicit Before(std::int64_t at_start) : counted_at_start(at_start) {}
  std::int64_t counted_at_start;
};

/// Returns whether a call launches no kernel, because it only makes a view, allocates memory or
/// answers a question about types.
bool is_free(const at::RecordFunction& call) {
  constexpr std::array<std::string_view, 9> kFree{
      "aten::empty",       "aten::_unsafe_view", "aten::resize_",
      "aten::detach",      "aten::detach_",      "aten::lift_fresh",
      "aten::result_type", "aten::can_cast",     "aten::_has_compatible_shallow_copy_type"};
  const std::string_view name = call.name();
  for (const std::string_view prefix : kFree)
    if (name == prefix || (prefix == "aten::empty" && name.starts_with(prefix))) return true;
  if (!name.starts_with("aten::")) return true;  // nodes of autograd, which call operators
  const auto schema = call.operator_schema();
  if (!schema || schema->returns().empty()) return false;
  const c10::AliasInfo* alias = schema->returns().front().alias_info();
  return alias != nullptr && !alias->isWrite();
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& /*call*/) {
  return std::make_unique<Before>(counted);
}

void end(const at::RecordFunction& call, at::ObserverContext* context) {
  const bool is_leaf = counted == static_cast<Before*>(context)->counted_at_start;
  const std::lock_guard lock(counts().mutex);
  ++counts().calls[call.name()];
  if (!is_leaf || is_free(call)) return;
  ++counted;
  ++counts().leaves;
}

}  // namespace

GpuWork::GpuWork() : kernels_before_(cudaemu::launches()), reads_before_(tensor::read_backs()) {
  {
    const std::lock_guard lock(counts().mutex);
    counts().calls.clear();
    counts().leaves = 0;
  }
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
}

GpuWork::~GpuWork() {
  at::removeCallback(handle_);
}

std::int64_t GpuWork::own_kernels() const {
  return cudaemu::launches() - kernels_before_;
}

std::int64_t GpuWork::libtorch_calls() const {
  const std::lock_guard lock(counts().mutex);
  return counts().leaves;
}

std::int64_t GpuWork::reads() const {
  return tensor::read_backs() - reads_before_;
}

std::int64_t GpuWork::calls_of(const std::string& name) const {
  const std::lock_guard lock(counts().mutex);
  const auto found = counts().calls.find(name);
  return found == counts().calls.end() ? 0 : found->second;
}

}  // namespace mgpu::emulated
