#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mgpu::report {

/// Writes the fields of one protobuf message. There is no schema: the caller knows the numbers and
/// types of the fields.
/// Source: protobuf.dev, Encoding.
class ProtoMessage {
public:
  ProtoMessage& integer(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  ProtoMessage& number(std::uint32_t field, double value) { return fixed(field, 1, value); }
  ProtoMessage& number(std::uint32_t field, float value) { return fixed(field, 5, value); }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) {
    return text(field, value.bytes_);
  }

  const std::string& bytes() const { return bytes_; }

private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(static_cast<unsigned char>(value | 0x80));
    bytes_ += static_cast<char>(value);
  }
  void key(std::uint32_t field, std::uint32_t wire) { varint(field << 3 | wire); }

  template <class T>
  ProtoMessage& fixed(std::uint32_t field, std::uint32_t wire, T value) {
    key(field, wire);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
    return *this;
  }

  std::string bytes_;
};

}  // namespace mgpu::report
