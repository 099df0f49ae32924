#include "event_bytes.hpp"

#include <cstdint>
#include <cstring>
#include <variant>

// A text is its length as 8 bytes and its bytes. An event is its word, then of each field: name,
// number of the variant's alternative as a byte, value.
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

}  // namespace

std::string to_bytes(const Event& event) {
  std::string bytes;
  put(bytes, event.word);
  for (const auto& [name, value] : event.fields) {
    put(bytes, name);
    put(bytes, static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& held) { put(bytes, held); }, value);
  }
  return bytes;
}

Event event_from_bytes(std::string_view bytes) {
  Event event{take<std::string>(bytes), {}};
  while (!bytes.empty()) {
    std::string name = take<std::string>(bytes);
    event.fields.emplace_back(std::move(name), take_value(bytes));
  }
  return event;
}

}  // namespace mgpu::run
