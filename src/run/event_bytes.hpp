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

/// Anything that a leader shows on the run's screen, log or curves.
using Shown = std::variant<Event, ScalarPoint>;

/// Packs `shown` for a message between ranks of one program.
std::string to_bytes(const Shown& shown);
Shown shown_from_bytes(std::string_view bytes);

}  // namespace mgpu::run
