#pragma once

#include <string>
#include <string_view>

#include <mgpu/base/sinks.hpp>

namespace mgpu::run {

/// An event in a message between ranks of one program.
std::string to_bytes(const Event& event);
Event event_from_bytes(std::string_view bytes);

}  // namespace mgpu::run
