#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <mgpu/base/sinks.hpp>

namespace mgpu::run {

/// A point of a curve in TensorBoard.
struct ScalarPoint {
  std::string tag;
  std::int64_t step;
  double value;
};

/// A message that a session's leader sends to rank 0 of the run: an event for the screen and the
/// logs, or a point of a TensorBoard curve.
using Shown = std::variant<Event, ScalarPoint>;

/// Packs `shown` for a message between ranks of one program.
std::string to_bytes(const Shown& shown);
/// Unpacks what to_bytes() packed.
Shown shown_from_bytes(std::string_view bytes);

}  // namespace mgpu::run
