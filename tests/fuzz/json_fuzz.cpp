// Reads any bytes as a JSON file of a model. The result must be a printable Failure, or a tree that
// does not change when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>

#include "memory_file.hpp"

namespace {

using namespace mgpu;
using fuzz::require;

constexpr std::uint64_t kLimit = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  try {
    const std::string text = formats::to_json(formats::read_json_object(file.path(), kLimit));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const fuzz::MemoryFile again(bytes, text.size());
    require(formats::to_json(formats::read_json_object(again.path(), 16 * kLimit)) == text);
  } catch (const Failure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
