#include <array>

#include <mgpu/ad/source.hpp>
#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>

// The registry of sources, the algorithms whose histories a model learns from. Each source has a
// file sources/NAME.cpp with the function make_NAME, and its NAME in this list.
#define MGPU_SOURCES(line) line(explorer) line(random_walk)

namespace mgpu::ad {

#define MGPU_DECLARE(name) \
  std::unique_ptr<Source> make_##name(const Environment&, const SourceOptions&);
MGPU_SOURCES(MGPU_DECLARE)

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Source> (*make)(const Environment&, const SourceOptions&);
};

#define MGPU_ENTRY(name) Entry{#name, make_##name},
const std::array kEntries = {MGPU_SOURCES(MGPU_ENTRY)};

}  // namespace

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  names.reserve(kEntries.size());
  for (const Entry& entry : kEntries)
    names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Source> make_source(std::string_view name, const Environment& environment,
                                    const SourceOptions& options) {
  for (const Entry& entry : kEntries)
    if (name == entry.name) return entry.make(environment, options);
  throw Error("no source is called " + std::string(name));
}

void play_all(const Source& source, HistorySet& histories) {
  for (std::size_t i = 0; i < histories.size(); ++i) {
    source.play(histories.first_id() + i, histories.slot(i));
    mark_progress();
  }
}

}  // namespace mgpu::ad
