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

/// Returns the value of a field of the event; nullptr if it has no such field.
const Event::Value* find_field(const Event& event, std::string_view key);

/// Returns a field as a number. Returns nullopt if the field is missing or has a text, and NaN if
/// it has a boolean.
std::optional<double> number_field(const Event& event, std::string_view key);

/// The progress that an event reports about a loop over steps or samples. `done` is the field
/// `step` of the event, or `samples` if it has no `step`.
struct Position {
  std::string unit;  // "step", "samples"
  std::int64_t done = 0;
  std::int64_t total = 0;  // > 0
};

/// Returns the progress that the event reports. Returns nullopt if the event lacks a field `total`
/// above 0, or has neither `step` nor `samples`.
std::optional<Position> position_of(const Event& event);

/// Formats the fields of an event for people: "step 20650/50000 41.3%  loss 0.4123  eta 0:52:50".
/// Known fields, such as `loss`, have a special form; others are written as "key value". Texts are
/// escaped, and values of secrets are masked.
std::string event_fields(const Event& event);

/// Formats an event as a line of run.log: "2026-11-21T10:42:07Z train  " and event_fields(). The
/// line has at most kMaxLine code points and no control bytes.
std::string event_line(const Event& event, std::chrono::system_clock::time_point when);

/// Formats an event as one JSON object without a newline: time, elapsed_s, event, then the fields
/// with their types. Values of secrets are masked. JSON lacks NaN and infinities, so they become
/// the texts "nan", "inf" and "-inf".
/// Errors: Error when the event has a field twice, or a field `time`, `elapsed_s` or `event`.
std::string event_json(const Event& event, std::chrono::system_clock::time_point when,
                       double elapsed_s);

}  // namespace mgpu::report
