#include "settings.hpp"

#include <cstdio>
#include <cstdlib>

namespace cudaemu {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const char* name, const std::string& value) {
  std::fprintf(stderr, "cudaemu: %s=%s means nothing\n", name, value.c_str());
  std::exit(64);
}

bool flag(const char* name) {
  const std::string value = variable(name);
  if (value == "1") return true;
  if (!value.empty() && value != "0") refuse(name, value);
  return false;
}

Order order() {
  const std::string value = variable("CUDAEMU_ORDER");
  if (value.empty() || value == "forward") return Order::forward;
  if (value == "backward") return Order::backward;
  if (value == "random") return Order::random;
  refuse("CUDAEMU_ORDER", value);
}

int devices() {
  constexpr int kMost = 16;
  const std::string value = variable("CUDAEMU_DEVICES");
  if (value.empty()) return 1;
  const int number = std::atoi(value.c_str());
  if (number < 1 || number > kMost) refuse("CUDAEMU_DEVICES", value);
  return number;
}

}  // namespace

Settings& settings() {
  static Settings all{order(),
                      flag("CUDAEMU_LAZY"),
                      flag("CUDAEMU_COUNT"),
                      devices(),
                      variable("CUDA_DEVICE_MAX_CONNECTIONS") == "1",
                      variable("CUDAEMU_SKIP")};
  return all;
}

}  // namespace cudaemu
