// Any bytes as a JSON Lines file: either rows that are the same when they are written and read
// again, or problems that can be shown.
#include <cstddef>
#include <cstdint>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/store/json_lines.hpp>

#include "memory_file.hpp"

namespace {

using namespace mgpu;
using fuzz::require;

void read_again(const std::vector<store::JsonLine>& lines) {
  for (const store::JsonLine& line : lines) {
    const std::string text = store::to_json(line.object);
    require(store::to_json(store::parse_json_object(std::string_view(text))) == text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  store::LineProblems problems("fuzz.jsonl");
  read_again(store::parse_json_lines(text, problems));
  store::LineProblems elsewhere("fuzz.jsonl");
  elsewhere.unpack(problems.packed());
  require(elsewhere.packed() == problems.packed());
  try {
    problems.throw_if_any();
    require(size > 0);
  } catch (const Failure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
