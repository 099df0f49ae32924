// Checks that all sources read tensors from a device through mgpu/tensor/read_back.hpp, which
// counts these reads. Decoding waits for the device only once in several steps. On a CPU, no other
// test would notice an additional read.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kTop = MGPU_SOURCE_DIR;

/// Sources that may name these calls, and why.
const std::map<std::string, std::string> kExceptions = {
    {"src/tensor/read_back.cpp", "it is the helper"},
    {"src/tensor/torch_device.cpp", "it names the device of new tensors, and reads none"},
    {"src/lm/weights/stored_head.cpp", "it compares matrices of a file, which are on the host"},
};

/// Calls that make the host wait for the device.
const std::regex kRead(R"(\.item\s*[<(]|\.cpu\(|\bkCPU\b|\bDeviceType::CPU\b|\.tolist\b|)"
                       R"(\bnonzero\b|\bargwhere\b|\bmasked_select\b|\bis_nonzero\b|)"
                       R"(\.to\(at::kCPU|\b_local_scalar_dense\b|\.equal\(|\bat::equal\(|)"
                       R"(\brepeat_interleave\b)");

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HostReads, GoThroughOneHelper) {
  int users = 0;
  std::set<std::string> excused;
  for (const char* folder : {"include", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kTop / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".hpp") continue;
      const std::string text = text_of(entry.path());
      if (text.find("mgpu/tensor/read_back.hpp") != std::string::npos) ++users;
      std::smatch found;
      if (!std::regex_search(text, found, kRead)) continue;
      const std::string name = entry.path().lexically_relative(kTop).string();
      if (kExceptions.contains(name))
        excused.insert(name);
      else
        ADD_FAILURE() << name << ": " << found.str() << ": use mgpu/tensor/read_back.hpp";
    }
  }
  EXPECT_GT(users, 15);
  EXPECT_EQ(excused.size(), kExceptions.size()) << "an exception is not needed any more";
}

TEST(HostReads, TheLintKnowsTheCallsThatWait) {
  for (const char* call :
       {"x.item<double>()", "x.item()", "x.cpu()", "x.to(at::kCPU)", "x.tolist()", "x.nonzero()",
        "at::nonzero(x)", "x.masked_select(y)", "at::equal(x, y)", "x.to(at::DeviceType::CPU)",
        "x.repeat_interleave(counts)"})
    EXPECT_TRUE(std::regex_search(call, kRead)) << call;
  for (const char* other : {"slice.item, 3", "read_items(1)", "cpu::squared_norm(args)",
                            "tensor::read_back(x)", "DeviceKind::cpu"})
    EXPECT_FALSE(std::regex_search(other, kRead)) << other;
}

}  // namespace
