#include <algorithm>
#include <array>

#include <mgpu/cluster/gpu_cards.hpp>

namespace mgpu::cluster {
namespace {

constexpr std::uint64_t mib(std::uint64_t count) {
  return count << 20;
}

constexpr auto kCards = std::to_array<GpuCard>({
    {"v100_16gb", "NVIDIA V100 16GB", mib(16160), 0.9e12, 125e12, 15.7e12},
    {"v100_32gb", "NVIDIA V100 32GB", mib(32510), 0.9e12, 125e12, 15.7e12},
    {"a10", "NVIDIA A10", mib(23028), 0.6e12, 125e12, 31.2e12},
    {"a100_40gb", "NVIDIA A100 40GB", mib(40536), 1.555e12, 312e12, 19.5e12},
    {"a100_80gb", "NVIDIA A100 80GB", mib(81251), 2.039e12, 312e12, 19.5e12},
    {"rtx_4090", "NVIDIA GeForce RTX 4090", mib(24564), 1.008e12, 165e12, 82.6e12},
    {"l4", "NVIDIA L4", mib(23034), 0.3e12, 121e12, 30.3e12},
    {"l40s", "NVIDIA L40S", mib(46068), 0.864e12, 362e12, 91.6e12},
    {"h100_pcie", "NVIDIA H100 PCIe", mib(81559), 2.0e12, 756e12, 51e12},
    {"h100", "NVIDIA H100 SXM", mib(81559), 3.35e12, 989e12, 67e12},
    {"h200", "NVIDIA H200", mib(143771), 4.8e12, 989e12, 67e12},
    {"b200", "NVIDIA B200", mib(183359), 8.0e12, 2250e12, 75e12},
});

}  // namespace

std::span<const GpuCard> gpu_cards() {
  return kCards;
}

const GpuCard* find_gpu_card(std::string_view key) {
  const auto found =
      std::ranges::find_if(kCards, [&](const GpuCard& card) { return card.key == key; });
  return found == kCards.end() ? nullptr : &*found;
}

}  // namespace mgpu::cluster
