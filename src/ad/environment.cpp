#include <algorithm>
#include <array>
#include <utility>

#include <mgpu/ad/environment.hpp>
#include <mgpu/base/error.hpp>

#ifndef MGPU_MORE_ENVIRONMENTS
#define MGPU_MORE_ENVIRONMENTS(line)
#endif

// The registry of environments. Each environment has a file environments/NAME.cpp with the function
// make_NAME, and its NAME in this list. A build may define MGPU_MORE_ENVIRONMENTS to add further
// environments, as tests/extension does.
#define MGPU_ENVIRONMENTS(line) line(darkroom) MGPU_MORE_ENVIRONMENTS(line)

namespace mgpu::ad {

#define MGPU_DECLARE(name) std::unique_ptr<Environment> make_##name(std::uint64_t split_seed);
MGPU_ENVIRONMENTS(MGPU_DECLARE)

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Environment> (*make)(std::uint64_t split_seed);
};

#define MGPU_ENTRY(name) Entry{#name, make_##name},
const std::array kEntries = {MGPU_ENVIRONMENTS(MGPU_ENTRY)};

}  // namespace

Environment::Environment(std::string name, EnvironmentShape shape, std::vector<int> train_tasks,
                         std::vector<int> test_tasks)
    : name_(std::move(name)),
      shape_(shape),
      train_tasks_(std::move(train_tasks)),
      test_tasks_(std::move(test_tasks)) {
  if (num_states() < 1 || num_states() > 256) throw Error(name_ + ": states do not fit a byte");
  if (num_actions() < 1 || num_actions() > 255) throw Error(name_ + ": actions do not fit a byte");
  if (horizon() < 1) throw Error(name_ + ": episodes without steps");

  std::vector<int> tasks = train_tasks_;
  tasks.insert(tasks.end(), test_tasks_.begin(), test_tasks_.end());
  std::sort(tasks.begin(), tasks.end());
  for (int task = 0; task < num_tasks(); ++task)
    if (tasks[static_cast<std::size_t>(task)] != task)
      throw Error(name_ + ": task " + std::to_string(task) + " is in none or both of the lists");
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  names.reserve(kEntries.size());
  for (const Entry& entry : kEntries)
    names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Environment> make_environment(std::string_view name, std::uint64_t split_seed) {
  for (const Entry& entry : kEntries)
    if (name == entry.name) return entry.make(split_seed);
  throw Error("no environment is called " + std::string(name));
}

}  // namespace mgpu::ad
