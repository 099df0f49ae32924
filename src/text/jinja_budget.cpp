#include "jinja_budget.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <pthread.h>

namespace mgpu::text {
namespace {

thread_local RenderBudget* thread_budget = nullptr;

[[noreturn]] void too_much(const std::string& what) {
  if (thread_budget != nullptr) thread_budget->set_spent();
  throw std::runtime_error(what);
}

/// Calls visit(item) for each value directly inside `value`, including the keys of an object.
template <class Visit>
void for_each_item(const jinja::value& value, const Visit& visit) {
  if (jinja::is_val<jinja::value_array>(value)) {
    for (const jinja::value& item : value->as_array())
      visit(item);
  } else if (jinja::is_val<jinja::value_object>(value)) {
    for (const auto& [key, item] : value->as_ordered_object()) {
      visit(key);
      visit(item);
    }
  } else if (const auto* named = dynamic_cast<const jinja::value_kwarg_t*>(value.get())) {
    visit(named->val);
  }
}

/// The lowest stack address of this thread that the calls of a template may reach.
struct Stack {
  Stack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* begin = nullptr;
    std::size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0)
      limit = reinterpret_cast<std::uintptr_t>(begin) + std::min(bytes / 4, std::size_t{256} << 10);
    pthread_attr_destroy(&attributes);
  }
  std::uintptr_t limit = 0;  // 0: not known, no limit
};

}  // namespace

RenderBudget::RenderBudget(std::size_t names, std::size_t max_steps)
    : before_(thread_budget),
      max_steps_(max_steps),
      steps_(max_steps),
      steps_per_scope_(1 + names / 4) {
  thread_budget = this;
}

RenderBudget::~RenderBudget() {
  thread_budget = before_;
}

RenderBudget& RenderBudget::of_thread() {
  if (thread_budget == nullptr) throw std::logic_error("a chat template is executed by itself");
  return *thread_budget;
}

void RenderBudget::take_steps(std::size_t steps) {
  if (steps > steps_) too_much("it takes more than " + std::to_string(max_steps_) + " steps");
  steps_ -= steps;
}

void RenderBudget::take_bytes(std::size_t bytes) {
  if (bytes > bytes_)
    too_much("it reads more than " + std::to_string(kBytes >> 20) + " MiB of texts");
  bytes_ -= bytes;
}

void RenderBudget::take(const jinja::value& value) {
  take_steps(1);
  if (jinja::is_val<jinja::value_string>(value)) {
    const std::size_t bytes = value->val_str.length();
    check_text(bytes);
    take_bytes(bytes + 64 * value->val_str.parts.size());
  }
}

void RenderBudget::take_items(const jinja::value& value) {
  take(value);
  if (jinja::is_val<jinja::value_array>(value)) {
    check_list(value->as_array().size());
    take_steps(value->as_array().size());
  } else if (jinja::is_val<jinja::value_object>(value)) {
    take_steps(value->as_ordered_object().size());
  }
}

void RenderBudget::take_deep(const jinja::value& value) {
  take_deep(value, 0);
}

void RenderBudget::take_deep(const jinja::value& value, int depth) {
  if (depth > kValueDepth)
    too_much("its values are nested more than " + std::to_string(kValueDepth) + " deep");
  take_steps(1);
  if (jinja::is_val<jinja::value_string>(value)) take_bytes(value->val_str.length());
  for_each_item(value, [&](const jinja::value& item) { take_deep(item, depth + 1); });
}

void RenderBudget::check_text(std::size_t bytes) {
  if (bytes > kTextBytes)
    too_much("it makes a text of more than " + std::to_string(kTextBytes >> 20) + " MiB");
}

void RenderBudget::check_list(std::size_t items) {
  if (items > kListItems)
    too_much("it makes a list of more than " + std::to_string(kListItems) + " items");
}

std::size_t RenderBudget::take_search(std::string_view whole, std::string_view part) {
  take_bytes(whole.size() * (1 + part.size() / 64));
  if (part.empty()) return whole.size() + 1;
  std::size_t count = 0;
  for (std::size_t at = whole.find(part); at != whole.npos; at = whole.find(part, at + part.size()))
    ++count;
  return count;
}

RenderBudget::Call::Call() {
  RenderBudget& budget = of_thread();
  if (budget.calls_ == kCallDepth)
    too_much("its calls are nested more than " + std::to_string(kCallDepth) + " deep");
  ++budget.calls_;
}

RenderBudget::Call::~Call() {
  --of_thread().calls_;
}

void RenderBudget::add_namespace(const jinja::value& value) {
  namespaces_.insert(value);  // keeps the value alive, so that no other value gets its address
}

bool RenderBudget::is_namespace(const jinja::value& value) const {
  return namespaces_.contains(value);
}

bool RenderBudget::holds_namespace(const jinja::value& value) const {
  if (is_namespace(value)) return true;
  bool found = false;
  for_each_item(value, [&](const jinja::value& item) { found = found || holds_namespace(item); });
  return found;
}

void check_stack() {
  static thread_local const Stack kStack;
  if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < kStack.limit)
    too_much("its calls are nested too deep for the stack");
}

}  // namespace mgpu::text
