#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <mgpu/kernels/draw_with_replacement.hpp>
#include <mgpu/kernels/online_draw.hpp>
#include <mgpu/kernels/rotate_heads.hpp>

#include "random_values.hpp"

// Inputs of the CPU and CUDA kernels for rotations and draws, and their expected results.
namespace mgpu::kernels {

/// Inputs of rotate_heads: heads of tokens, an angle for each pair of columns, and norm weights.
struct HeadsCase {
  static constexpr std::size_t kTokens = 5;
  static constexpr std::size_t kHeads = 3;
  static constexpr float kEpsilon = 1e-5F;

  explicit HeadsCase(std::size_t columns)
      : x(normals(kTokens * kHeads * columns, 1, 3.0F)), weight(normals(columns, 2)) {
    for (std::size_t i = 0; i < kTokens * columns / 2; ++i) {
      const double angle = 0.37 * static_cast<double>(i);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }

  std::vector<float> x;
  std::vector<float> weight;
  std::vector<float> cosine;
  std::vector<float> sine;
};

namespace reference {

/// Returns the heads, normalized if `is_normed`, with each pair of columns rotated as a complex
/// number by the token's angle.
inline std::vector<double> rotate_heads(const HeadsCase& input, bool is_normed) {
  const std::size_t columns = input.weight.size();
  const std::size_t half = columns / 2;
  std::vector<double> out;
  for (std::size_t head = 0; head < HeadsCase::kTokens * HeadsCase::kHeads; ++head) {
    std::vector<double> x(columns);
    double squares = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
      x[c] = input.x[head * columns + c];
      squares += x[c] * x[c] / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns && is_normed; ++c)
      x[c] *= input.weight[c] / std::sqrt(squares + static_cast<double>(HeadsCase::kEpsilon));
    const std::size_t token = head / HeadsCase::kHeads;
    for (std::size_t c = 0; c < columns; ++c) {
      const double cosine = input.cosine[token * half + c % half];
      const double sine = input.sine[token * half + c % half];
      out.push_back(c < half ? x[c] * cosine - x[c + half] * sine
                             : x[c] * cosine + x[c - half] * sine);
    }
  }
  return out;
}

}  // namespace reference

/// Rows that all have the same scores, in three blocks, but different uniforms. Every seventh token
/// is excluded.
struct DrawCase {
  static constexpr std::size_t kRows = 20000;
  static constexpr std::size_t kBlocks = 3;

  explicit DrawCase(std::size_t block_size) : block(block_size) {
    const std::vector<float> line = normals(kBlocks * block, 4, 1.5F);
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      for (std::size_t n = 0; n < kRows; ++n) {
        for (std::size_t i = 0; i < block; ++i) {
          const std::size_t id = b * block + i;
          const bool is_excluded = id % 7 == 3;
          scores[b].push_back(is_excluded ? -std::numeric_limits<float>::infinity() : line[id]);
          logits[b].push_back(static_cast<float>(id));
        }
        uniforms[b].push_back(uniform(random));
        uniforms[b].push_back(uniform(random));
      }
    }
  }

  /// Returns softmax(scores), which is the same for all rows.
  std::vector<double> probabilities() const {
    std::vector<double> result;
    double sum = 0.0;
    for (const std::vector<float>& part : scores) {
      for (std::size_t i = 0; i < block; ++i) {
        result.push_back(std::exp(static_cast<double>(part[i])));
        sum += result.back();
      }
    }
    for (double& p : result)
      p /= sum;
    return result;
  }

  std::size_t block;
  std::vector<float> scores[kBlocks];  // [rows, block] each
  std::vector<float> logits[kBlocks];
  std::vector<double> uniforms[kBlocks];
};

/// The state of online_draw for all rows, here before the first block.
struct DrawState {
  std::vector<double> tops =
      std::vector<double>(DrawCase::kRows, -std::numeric_limits<double>::infinity());
  std::vector<double> sums = std::vector<double>(DrawCase::kRows, 0.0);
  std::vector<std::int64_t> ids = std::vector<std::int64_t>(DrawCase::kRows, -1);
  std::vector<float> picked = std::vector<float>(DrawCase::kRows, -1.0F);
};

/// Returns the samples that the CPU kernel draws.
inline DrawState draw_on_cpu(const DrawCase& input) {
  DrawState state;
  for (std::size_t b = 0; b < DrawCase::kBlocks; ++b)
    cpu::online_draw({input.scores[b].data(), input.logits[b].data(), input.uniforms[b].data(),
                      state.tops.data(), state.sums.data(), state.ids.data(), state.picked.data(),
                      DrawCase::kRows, input.block, static_cast<std::int64_t>(b * input.block)});
  return state;
}

/// Rows with different distributions and uniforms. No uniform is so near the border between two
/// tokens that the rounding of sums decides.
struct ManyDrawsCase {
  static constexpr std::size_t kRows = 40;
  static constexpr std::size_t kDraws = 50;

  ManyDrawsCase(std::size_t blocks_of_it, std::size_t block_size)
      : blocks(blocks_of_it), block(block_size), logits(blocks_of_it) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (std::size_t n = 0; n < kRows; ++n) {
      std::vector<float> row = normals(blocks * block, static_cast<unsigned>(100 + n), 2.0F);
      for (std::size_t id = 3; id < row.size(); id += 7)
        row[id] = -std::numeric_limits<float>::infinity();
      for (std::size_t b = 0; b < blocks; ++b)
        logits[b].insert(logits[b].end(), row.begin() + static_cast<std::ptrdiff_t>(b * block),
                         row.begin() + static_cast<std::ptrdiff_t>((b + 1) * block));
      add_row(row, [&] { return uniform(random); });
    }
  }

  std::size_t blocks;
  std::size_t block;
  std::vector<std::vector<float>> logits;  // by block: [rows, block]
  std::vector<float> log_sums;             // [rows]
  std::vector<double> uniforms;            // [rows, draws]
  std::vector<std::int64_t> expected;      // [rows, draws]

private:
  template <class Uniform>
  void add_row(const std::vector<float>& row, const Uniform& uniform) {
    std::vector<double> ends;
    double sum = 0.0;
    for (const float logit : row)
      ends.push_back(sum += std::exp(static_cast<double>(logit)));
    log_sums.push_back(static_cast<float>(std::log(sum)));
    std::vector<double> mine;
    while (mine.size() < kDraws) {
      const double u = uniform();
      const auto is_near = [&](double end) { return std::abs(end / sum - u) < 1e-5; };
      if (std::none_of(ends.begin(), ends.end(), is_near)) mine.push_back(u);
    }
    std::sort(mine.begin(), mine.end());
    for (const double u : mine) {
      expected.push_back(std::upper_bound(ends.begin(), ends.end(), u * sum) - ends.begin());
      uniforms.push_back(u);
    }
  }
};

}  // namespace mgpu::kernels
