#include "event_bytes.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

// A message starts with one byte, the index of the message's alternative in the variant Shown. For
// an event, Event::word follows, then for each field its name, the index of its alternative in
// Event::Value as one byte, and its value. For a ScalarPoint, its members follow in order. A text
// is stored as its length in 8 bytes, then its bytes.
namespace mgpu::run {
namespace {

template <class T>
void put(std::string& bytes, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    put(bytes, std::uint64_t{value.size()});
    bytes += value;
  } else {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

template <class T>
T take(std::string_view& bytes) {
  if constexpr (std::is_same_v<T, std::string>) {
    const auto length = static_cast<std::size_t>(take<std::uint64_t>(bytes));
    std::string text(bytes.substr(0, length));
    bytes.remove_prefix(length);
    return text;
  } else {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
  }
}

Event::Value take_value(std::string_view& bytes) {
  switch (take<std::uint8_t>(bytes)) {
    case 0:
      return take<std::int64_t>(bytes);
    case 1:
      return take<double>(bytes);
    case 2:
      return take<std::string>(bytes);
    default:
      return take<bool>(bytes);
  }
}

void put_shown(std::string& bytes, const Event& event) {
  put(bytes, event.word);
  for (const auto& [name, value] : event.fields) {
    put(bytes, name);
    put(bytes, static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& held) { put(bytes, held); }, value);
  }
}

void put_shown(std::string& bytes, const ScalarPoint& point) {
  put(bytes, point.tag);
  put(bytes, point.step);
  put(bytes, point.value);
}

Event take_event(std::string_view bytes) {
  Event event{take<std::string>(bytes), {}};
  while (!bytes.empty()) {
    std::string name = take<std::string>(bytes);
    event.fields.emplace_back(std::move(name), take_value(bytes));
  }
  return event;
}

ScalarPoint take_point(std::string_view bytes) {
  ScalarPoint point;
  point.tag = take<std::string>(bytes);
  point.step = take<std::int64_t>(bytes);
  point.value = take<double>(bytes);
  return point;
}

}  // namespace

std::string to_bytes(const Shown& shown) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(shown.index()));
  std::visit([&](const auto& held) { put_shown(bytes, held); }, shown);
  return bytes;
}

Shown shown_from_bytes(std::string_view bytes) {
  if (take<std::uint8_t>(bytes) == 0) return take_event(bytes);
  return take_point(bytes);
}
}  // namespace mgpu::run
