// Sweeps the row-wise kernels of decoders: rotate_heads, rms_norm, gated_activation,
// repetition_penalty, logits_grad.
#include <iterator>
#include <ostream>

#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/repetition_penalty.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/kernels/rotate_heads.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Heads {
  std::size_t tokens;
  std::size_t heads;
  std::size_t columns;
  bool is_normed;
};

std::ostream& operator<<(std::ostream& out, const Heads& shape) {
  return out << shape.tokens << " tokens, " << shape.heads << " heads of " << shape.columns
             << (shape.is_normed ? ", normed" : "");
}

class RotateHeadsSweep : public GpuTest, public testing::WithParamInterface<Heads> {};

TEST_P(RotateHeadsSweep, IsTheCpus) {
  const auto [tokens, heads, columns, is_normed] = GetParam();
  const std::vector<float> x = normals(tokens * heads * columns, 1, 3.0F);
  const std::vector<float> weight = normals(columns, 2);
  const std::vector<float> cosine = normals(tokens * columns / 2, 3);
  const std::vector<float> sine = normals(tokens * columns / 2, 4);
  std::vector<float> expected(x.size(), kUntouched);
  const OnDevice d_x(x), d_weight(weight), d_cosine(cosine), d_sine(sine);
  cpu::rotate_heads({x.data(), is_normed ? weight.data() : nullptr, cosine.data(), sine.data(),
                     expected.data(), tokens, heads, columns, 1e-5F});

  cuda::rotate_heads({d_x.get(), is_normed ? d_weight.get() : nullptr, d_cosine.get(), d_sine.get(),
                      d_x.get(), tokens, heads, columns, 1e-5F},
                     nullptr);

  expect_near("out", d_x, expected, {1e-5, 2e-5});
}

std::vector<Heads> head_shapes() {
  std::vector<Heads> all{{1000, 5, 64, true}, {1, 1, 128, true}};
  for (const std::size_t columns : {2U, 64U, 66U, 80U, 96U, 128U, 130U, 256U, 512U, 1024U})
    for (const bool is_normed : {false, true})
      all.push_back({3, 5, columns, is_normed});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, RotateHeadsSweep, testing::ValuesIn(head_shapes()));

struct Rows {
  std::size_t rows;
  std::size_t width;
  float size = 1.0F;  // magnitude of the numbers
};

std::ostream& operator<<(std::ostream& out, const Rows& shape) {
  return out << shape.rows << " rows of " << shape.width << ", size " << shape.size;
}

class RmsNormSweep : public GpuTest, public testing::WithParamInterface<Rows> {};

TEST_P(RmsNormSweep, IsTheCpus) {
  const auto [rows, width, size] = GetParam();
  const std::vector<float> x = normals(rows * width, 1, size);
  const std::vector<float> weight = normals(width, 2);
  std::vector<float> expected(x.size());
  const OnDevice d_x(x), d_weight(weight);
  cpu::rms_norm({x.data(), weight.data(), expected.data(), rows, width, 1e-5F});

  cuda::rms_norm({d_x.get(), d_weight.get(), d_x.get(), rows, width, 1e-5F}, nullptr);

  expect_near("out", d_x, expected, {3e-6, 1e-30});
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormSweep,
                         testing::Values(Rows{3, 1}, Rows{3, 31}, Rows{3, 64}, Rows{3, 256},
                                         Rows{3, 257}, Rows{3, 2048}, Rows{3, 4096}, Rows{3, 8192},
                                         Rows{5000, 33}, Rows{2, 4096, 1e18F},
                                         Rows{2, 4096, 1e-18F}));

struct Activated {
  ActivationKind kind;
  bool has_up;
};

std::ostream& operator<<(std::ostream& out, const Activated& shape) {
  return out << "kind " << static_cast<int>(shape.kind) << (shape.has_up ? ", up" : "");
}

class GatedActivationSweep : public GpuTest, public testing::WithParamInterface<Activated> {};

TEST_P(GatedActivationSweep, IsTheCpus) {
  const auto [kind, has_up] = GetParam();
  const std::vector<float> special{0.0F,   -0.0F,   kInfinity, -kInfinity, kNan,
                                   100.0F, -100.0F, 1e30F,     -1e30F};
  std::vector<float> gate = normals(4099, 1, 5.0F);
  std::vector<float> up = normals(4099, 2, 5.0F);
  for (std::size_t i = 0; i < special.size(); ++i) {
    gate[i] = special[i];
    up[20 + i] = special[i];
  }
  std::vector<float> expected(gate.size());
  const OnDevice d_gate(gate), d_up(up);
  cpu::gated_activation(
      {gate.data(), has_up ? up.data() : nullptr, expected.data(), gate.size(), kind, 1.7F, 2.0F});

  cuda::gated_activation(
      {d_gate.get(), has_up ? d_up.get() : nullptr, d_gate.get(), gate.size(), kind, 1.7F, 2.0F},
      nullptr);

  expect_near("out", d_gate, expected, {1e-5, 3e-6});
}

std::vector<Activated> activations() {
  std::vector<Activated> all;
  for (const bool has_up : {false, true})
    for (const auto kind : {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                            ActivationKind::clamped})
      all.push_back({kind, has_up});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GatedActivationSweep, testing::ValuesIn(activations()));

class RepetitionPenaltySweep : public GpuTest, public testing::WithParamInterface<Kind> {};

TEST_P(RepetitionPenaltySweep, IsTheCpus) {
  for (const std::size_t rows : {0U, 1U, 70U}) {
    for (const std::size_t block : {1U, 300U, 4032U}) {
      std::vector<float> logits = logits_of(rows, block, GetParam(), 5);
      const std::int64_t first_id = 100;
      std::vector<std::int64_t> ids, spans;
      for (std::size_t n = 0; n < rows; ++n) {
        spans.push_back(std::ssize(ids));
        for (std::int64_t id = std::ssize(ids) % 7; id < 5000 && n % 5 != 4; id += 3)
          ids.push_back(id);
        spans.push_back(std::ssize(ids));
      }
      const OnDevice d_logits(logits);
      const OnDevice d_ids(ids), d_spans(spans);
      cpu::repetition_penalty(
          {logits.data(), ids.data(), spans.data(), rows, block, first_id, 1.3F});

      cuda::repetition_penalty(
          {d_logits.get(), d_ids.get(), d_spans.get(), rows, block, first_id, 1.3F}, nullptr);

      expect_near("logits", d_logits, logits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RepetitionPenaltySweep, testing::ValuesIn(kKinds));

class LogitsGradSweep : public GpuTest, public testing::WithParamInterface<Kind> {};

TEST_P(LogitsGradSweep, IsTheCpus) {
  for (const std::size_t rows : {0U, 1U, 70U}) {
    for (const std::size_t block : {1U, 257U, 4032U}) {
      std::vector<float> logits = logits_of(rows, block, GetParam(), 6);
      const std::vector<float> log_sums = normals(rows, 7, 3.0F);
      const std::int64_t first_id = 100;
      std::vector<std::int64_t> targets;
      for (std::size_t n = 0; n < rows; ++n)
        targets.push_back(first_id - 1 + static_cast<std::int64_t>(n * 67 % (block + 2)));
      const OnDevice d_logits(logits), d_log_sums(log_sums);
      const OnDevice d_targets(targets);
      cpu::logits_grad(
          {logits.data(), log_sums.data(), targets.data(), first_id, rows, block, 0.3F});

      cuda::logits_grad(
          {d_logits.get(), d_log_sums.get(), d_targets.get(), first_id, rows, block, 0.3F},
          nullptr);

      expect_near("logits", d_logits, logits, {1e-5, 1e-6});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LogitsGradSweep, testing::ValuesIn(kKinds));

}  // namespace
}  // namespace mgpu::kernels
