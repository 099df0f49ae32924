#include <mgpu/base/error.hpp>
#include <mgpu/config/read_counts.hpp>

namespace mgpu {
namespace {

thread_local ReadCounts* current = nullptr;

}  // namespace

ReadCounts::ReadCounts() {
  if (current != nullptr) throw Error("reads are counted already");
  current = this;
}

ReadCounts::~ReadCounts() {
  current = nullptr;
}

void ReadCounts::add(std::string_view name) {
  const auto found = counts_.find(name);
  if (found == counts_.end())
    counts_.emplace(name, 1);
  else
    ++found->second;
}

void count_read(std::string_view name) {
  if (current != nullptr) current->add(name);
}

}  // namespace mgpu
