#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mgpu {

/// Something that happened, for the log, events.jsonl and the progress line.
struct Event {
  using Value = std::variant<std::int64_t, double, std::string, bool>;

  std::string word;  // train eval save gen score sample job note warn error done
  std::vector<std::pair<std::string, Value>> fields;  // in the order they are printed
};

/// Where algorithms report; implemented in `report`. Local: only rank 0 is given one that speaks.
class EventSink {
public:
  virtual ~EventSink() = default;
  virtual void event(const Event& event) = 0;
};

/// Curves over a step axis (TensorBoard).
class ScalarSink {
public:
  virtual ~ScalarSink() = default;
  virtual void scalar(std::string_view tag, std::int64_t step, double value) = 0;

  /// What an earlier attempt wrote from `step` on is void.
  virtual void resumed_at(std::int64_t /*step*/) {}
};

}  // namespace mgpu
