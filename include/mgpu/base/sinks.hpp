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

  std::string word;  // kind: train eval save gen score sample job note warn error done
  std::vector<std::pair<std::string, Value>> fields;  // in the order they are printed
};

/// Receives events of algorithms. Local: each rank may send events, and only rank 0 shows them.
class EventSink {
public:
  virtual ~EventSink() = default;
  virtual void event(const Event& event) = 0;
};

/// Receives values by step, which become curves (TensorBoard).
class ScalarSink {
public:
  virtual ~ScalarSink() = default;
  virtual void scalar(std::string_view tag, std::int64_t step, double value) = 0;

  /// Invalidates what an earlier attempt wrote from `step` on.
  virtual void resumed_at(std::int64_t /*step*/) {}
};

}  // namespace mgpu
