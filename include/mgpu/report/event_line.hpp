#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/sinks.hpp>

namespace mgpu::report {

inline constexpr std::size_t kMaxLine = 200;  // code points of one log line

/// A field of the event, or nullptr.
const Event::Value* find_field(const Event& event, std::string_view key);

/// A field as a number; nullopt when it is missing or not one.
std::optional<double> number_field(const Event& event, std::string_view key);

/// The progress of a loop over steps or samples: the first of these fields that the event has, and
/// `total`.
struct Position {
  std::string unit;  // "step", "samples"
  std::int64_t done = 0;
  std::int64_t total = 0;  // > 0
};

/// Returns nullopt for an event without `total`, which is not progress.
std::optional<Position> position_of(const Event& event);

/// The fields in readable form: "step 20650/50000 41.3%  loss 0.4123  eta 0:52:50". Known keys have
/// a special form (a table in the source), others are "key value"; texts are escaped, secrets
/// masked.
std::string event_fields(const Event& event);

/// "2026-11-21T10:42:07Z train  " and the fields: at most kMaxLine long, without control bytes.
std::string event_line(const Event& event, std::chrono::system_clock::time_point when);

/// One JSON object without a newline: time, elapsed_s, event, then the fields with their types.
/// JSON lacks NaN and infinities, so they become the texts "nan", "inf" and "-inf".
std::string event_json(const Event& event, std::chrono::system_clock::time_point when,
                       double elapsed_s);

}  // namespace mgpu::report
