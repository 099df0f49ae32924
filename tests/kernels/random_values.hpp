#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace mgpu::kernels {

/// Returns normally distributed numbers, the same ones for the same seed.
inline std::vector<float> normals(std::size_t count, unsigned seed, float deviation = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(count);
  for (float& x : values)
    x = normal(random);
  return values;
}

/// Returns targets of cross-entropy: random classes below `classes`, but every fifth target is
/// `every_fifth`.
inline std::vector<std::int64_t> targets(std::size_t count, std::size_t classes,
                                         std::int64_t every_fifth) {
  std::mt19937 random(5);
  std::vector<std::int64_t> values(count);
  for (std::size_t n = 0; n < count; ++n)
    values[n] = n % 5 == 4 ? every_fifth : static_cast<std::int64_t>(random() % classes);
  return values;
}

}  // namespace mgpu::kernels
