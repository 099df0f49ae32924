#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace mgpu::formats {

static_assert(std::endian::native == std::endian::little, "the ledger is written as it lies");

/// Appends the bytes of one number to `out`, least significant first.
template <class T>
void put(std::vector<std::byte>& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

/// Removes one number from the front of `from`, and returns it. The caller must have checked that
/// there are enough bytes.
template <class T>
T take(std::span<const std::byte>& from) {
  static_assert(std::is_arithmetic_v<T>);
  T value{};
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return value;
}

}  // namespace mgpu::formats
