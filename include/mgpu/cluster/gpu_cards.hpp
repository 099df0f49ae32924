#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mgpu::cluster {

/// A kind of GPU for --plan and --check. Bandwidth and speeds are those of the data sheet.
struct GpuCard {
  std::string_view key;   // value of devices.gpu: "a100_80gb"
  std::string_view name;  // "NVIDIA A100 80GB"
  std::uint64_t bytes;    // memory as nvidia-smi shows it
  double bytes_per_s;     // bandwidth of the GPU memory
  double flops_16;        // FLOP/s of dense matrix products of 16-bit values with 32-bit sums
  double flops_32;        // FLOP/s of products of 32-bit values, without TF32
};

/// Returns all cards that devices.gpu can name.
std::span<const GpuCard> gpu_cards();

/// Returns the card with this key; nullptr if the key is unknown.
const GpuCard* find_gpu_card(std::string_view key);

}  // namespace mgpu::cluster
