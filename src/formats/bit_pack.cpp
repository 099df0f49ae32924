#include <bit>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/bit_pack.hpp>

namespace mgpu::formats {

int bits_for(std::uint64_t count) {
  return count <= 2 ? 1 : static_cast<int>(std::bit_width(count - 1));
}

std::vector<std::uint8_t> pack_bits(std::span<const std::uint32_t> values, int bits) {
  std::vector<std::uint8_t> bytes((values.size() * static_cast<std::size_t>(bits) + 7) / 8);
  std::uint64_t waiting = 0;  // bits not yet written: 0 to 7 bits of earlier values, then `value`
  int held = 0;
  auto out = bytes.begin();
  for (const std::uint32_t value : values) {
    if (std::cmp_greater(std::bit_width(value), bits))
      throw Error(std::to_string(value) + " does not fit into " + std::to_string(bits) + " bits");
    waiting |= std::uint64_t{value} << held;
    for (held += bits; held >= 8; held -= 8) {
      *out++ = static_cast<std::uint8_t>(waiting);
      waiting >>= 8;
    }
  }
  if (held > 0) *out = static_cast<std::uint8_t>(waiting);
  return bytes;
}

std::vector<std::uint32_t> unpack_bits(std::span<const std::uint8_t> bytes, int bits,
                                       std::size_t count) {
  if (bytes.size() * 8 < count * static_cast<std::size_t>(bits))
    throw ShapeError("unpack_bits: " + std::to_string(bytes.size()) + " bytes for " +
                     std::to_string(count) + " numbers of " + std::to_string(bits) + " bits");
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::vector<std::uint32_t> values;
  values.reserve(count);
  std::uint64_t waiting = 0;
  int held = 0;
  auto in = bytes.begin();
  while (values.size() < count) {
    for (; held < bits; held += 8)
      waiting |= std::uint64_t{*in++} << held;
    values.push_back(static_cast<std::uint32_t>(waiting & mask));
    waiting >>= bits;
    held -= bits;
  }
  return values;
}

}  // namespace mgpu::formats
