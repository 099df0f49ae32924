// Reads any bytes as a safetensors file. The result must be a printable Failure, or tensors with
// different names whose bytes can be read and fit into the file.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/safetensors.hpp>

#include "memory_file.hpp"

namespace {

using namespace mgpu;
using fuzz::require;

void use(const formats::SafetensorsFile& file) {
  std::set<std::string> names;
  std::uint64_t bytes = 0;
  unsigned sum = 0;
  for (const formats::StoredTensor& tensor : file.tensors()) {
    require(names.insert(tensor.name).second);
    require(file.find(tensor.name) == &tensor);
    require(!formats::to_text(tensor.shape).empty());
    for (const std::byte byte : tensor.bytes)  // must be mapped
      sum += std::to_integer<unsigned>(byte);
    bytes += tensor.bytes.size();
  }
  require(bytes + 8 < file.bytes());
  require(sum <= 255 * bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  try {
    use(formats::SafetensorsFile(file.path()));
  } catch (const Failure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
