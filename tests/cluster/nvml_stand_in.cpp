// Stands in for NVML: knows GPU-0 and GPU-1. Their utilization is 20 % and then 80 % on GPU-0, and
// cannot be read on GPU-1.
#include <cstring>

namespace {

struct Rates {
  unsigned int gpu, memory;
};

int inits = 0;
int reads = 0;
constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kNotFound = 6;

}  // namespace

extern "C" {

int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device);
int nvmlDeviceGetUtilizationRates(void* device, void* rates);

int nvmlInit_v2() {
  ++inits;
  return kSuccess;
}

int nvmlShutdown() {
  --inits;
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (inits == 0) return kUninitialized;
  if (std::strcmp(uuid, "GPU-0") != 0 && std::strcmp(uuid, "GPU-1") != 0) return kNotFound;
  *device = std::strcmp(uuid, "GPU-0") == 0 ? &inits : &reads;
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, void* rates) {
  if (inits == 0) return kUninitialized;
  if (device != &inits) return kNotFound;
  *static_cast<Rates*>(rates) = {reads++ == 0 ? 20U : 80U, 5};
  return kSuccess;
}
}
