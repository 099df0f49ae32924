// Contains the functions that the sweeps share. Sweeps compare CUDA kernels with their CPU versions
// over many shapes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "on_device.hpp"
#include "random_values.hpp"

namespace mgpu::kernels {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kUntouched = 9.0F;  // initial value of outputs

/// Allows |actual - expected| <= absolute + relative |expected|. By default, values must be equal.
struct Tolerance {
  double relative = 0.0;
  double absolute = 0.0;
};

template <class T>
bool is_near(T actual, T expected, const Tolerance& tolerance) {
  if (actual == expected) return true;
  const auto a = static_cast<double>(actual);
  const auto b = static_cast<double>(expected);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
}

/// Expects that all elements are near the expected ones. The message names the first element that
/// is not. NaN equals NaN.
template <class T>
void expect_near(const char* what, const OnDevice<T>& on_device, const std::vector<T>& expected,
                 const Tolerance& tolerance = {}) {
  const std::vector<T> actual = on_device.host();
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(is_near(actual[i], expected[i], tolerance))
        << what << "[" << i << " of " << expected.size() << "] is " << actual[i] << ", expected "
        << expected[i];
}

/// Kinds of logits.
enum class Kind { normal, ties, few_finite, all_excluded, nan, infinite };
inline constexpr Kind kKinds[] = {Kind::normal,       Kind::ties, Kind::few_finite,
                                  Kind::all_excluded, Kind::nan,  Kind::infinite};

/// Returns whether CPU and GPU promise the same result, as they do for finite and excluded logits.
inline bool is_meaningful(Kind kind) {
  return kind != Kind::nan && kind != Kind::infinite;
}

inline float changed(float logit, std::size_t i, Kind kind) {
  switch (kind) {
    case Kind::normal:
      return logit;
    case Kind::ties:
      return std::round(logit);
    case Kind::few_finite:
      return i % 97 != 5 ? -kInfinity : logit;
    case Kind::all_excluded:
      return -kInfinity;
    case Kind::nan:
      return i % 31 == 7 ? kNan : logit;
    case Kind::infinite:
      return i % 53 == 9 ? kInfinity : logit;
  }
  return logit;
}

/// Returns logits [rows, block] of this kind.
inline std::vector<float> logits_of(std::size_t rows, std::size_t block, Kind kind, unsigned seed) {
  std::vector<float> logits = normals(rows * block, seed, 4.0F);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = changed(logits[i], i, kind);
  return logits;
}

}  // namespace mgpu::kernels
