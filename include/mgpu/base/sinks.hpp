#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mgpu {

/// An event for the log, events.jsonl and the progress line.
struct Event {
  using Value = std::variant<std::int64_t, double, std::string, bool>;

  std::string word;  // kind: "train", "eval", "note", "warn", "error", "debug", ...
  std::vector<std::pair<std::string, Value>> fields;  // in the order they are printed
};

/// Receives the events of a run. Any rank may send an event alone. The screen shows the events of
/// rank 0 and, later, the warnings of other ranks.
class EventSink {
public:
  virtual ~EventSink() = default;
  virtual void event(const Event& event) = 0;
};

/// Receives scalars of training steps, which TensorBoard shows as curves.
class ScalarSink {
public:
  virtual ~ScalarSink() = default;
  virtual void scalar(std::string_view tag, std::int64_t step, double value) = 0;

  /// Called when training resumes at `step`. Scalars that an earlier attempt wrote for `step` and
  /// later steps become invalid.
  virtual void resumed_at(std::int64_t /*step*/) {}
};

}  // namespace mgpu
