// Measures bytes of text per CPU-second of a tokenizer on one core; each line of a file is a text.
// Usage: tokenizer_bench encode|decode tokenizer.json lines.txt [seconds]. Prints a line of JSON.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace {

using mgpu::text::TokenId;
using mgpu::text::Tokenizer;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<std::string> read_lines(const char* path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

/// A checksum below 2^31 that depends on every value and its index.
class Check {
public:
  void add(std::uint64_t value) { state_ = (state_ * 1'000'003 + value + 1) % 2'147'483'647; }
  std::uint64_t value() const { return state_; }

private:
  std::uint64_t state_ = 0;
};

/// Returns the CPU-seconds per call of `pass`, without the first call.
template <class Pass>
double seconds_per_pass(double at_least_s, const Pass& pass) {
  pass();
  const double begin_s = cpu_seconds();
  double used_s = 0.0;
  int passes = 0;
  for (; used_s < at_least_s; ++passes) {
    pass();
    used_s = cpu_seconds() - begin_s;
  }
  return used_s / passes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return EXIT_FAILURE;
  const bool encodes = std::string(argv[1]) == "encode";
  const Tokenizer tokenizer = Tokenizer::open(argv[2]);
  const std::vector<std::string> lines = read_lines(argv[3]);
  const double at_least_s = argc > 4 ? std::atof(argv[4]) : 2.0;

  std::vector<std::vector<TokenId>> ids(lines.size());
  std::vector<std::string> decoded(lines.size());
  const auto encode = [&] {
    for (std::size_t i = 0; i < lines.size(); ++i)
      ids[i] = tokenizer.encode(lines[i], false);
  };
  const auto decode = [&] {
    for (std::size_t i = 0; i < lines.size(); ++i)
      decoded[i] = tokenizer.decode(ids[i], false);
  };
  encode();
  const double pass_s =
      encodes ? seconds_per_pass(at_least_s, encode) : seconds_per_pass(at_least_s, decode);

  Check check;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bytes += lines[i].size();
    for (const TokenId id : ids[i])
      check.add(static_cast<std::uint64_t>(id));
    for (const char byte : decoded[i])
      check.add(static_cast<unsigned char>(byte));
  }
  std::printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"MB/CPU-s\", \"check\": %llu}\n",
              argv[1], 1e-6 * static_cast<double>(bytes) / pass_s,
              static_cast<unsigned long long>(check.value()));
}
