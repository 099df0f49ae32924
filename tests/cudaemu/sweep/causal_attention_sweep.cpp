#include <ostream>

#include <mgpu/kernels/causal_attention.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t rows;
  std::size_t tokens;
  std::size_t heads;
  std::size_t head_dim;
  std::uint32_t threshold;  // of dropout
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << " rows of " << shape.tokens << ", " << shape.heads << " heads of "
             << shape.head_dim << ", dropout " << shape.threshold << "/65536";
}

class CausalAttentionSweep : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(CausalAttentionSweep, IsTheCpusForwardAndBackward) {
  const auto [rows, tokens, heads, head_dim, threshold] = GetParam();
  const std::size_t count = rows * tokens * heads * head_dim;
  const std::vector<float> qkv = normals(3 * count, 1);
  const std::vector<float> grad_out = normals(count, 2);
  std::vector<std::int64_t> samples;
  for (std::size_t b = 0; b < rows; ++b)
    samples.push_back(static_cast<std::int64_t>(1000 + b));
  std::vector<float> out(count, kUntouched);
  std::vector<float> log_sums(rows * heads * tokens, kUntouched);
  std::vector<float> grad(3 * count, kUntouched);
  const OnDevice d_qkv(qkv), d_grad_out(grad_out), d_out(out), d_log_sums(log_sums), d_grad(grad);
  const OnDevice d_samples(samples);
  const DropoutSite site{5, 8, threshold};
  const CausalAttentionArgs host{
      qkv.data(), samples.data(), out.data(), log_sums.data(), rows, tokens, heads, head_dim, site};
  const CausalAttentionArgs device{d_qkv.get(), d_samples.get(), d_out.get(), d_log_sums.get(),
                                   rows,        tokens,          heads,       head_dim,
                                   site};
  cpu::causal_attention(host);
  cpu::causal_attention_grad({host, grad_out.data(), grad.data()});

  cuda::causal_attention(device, nullptr);
  cuda::causal_attention_grad({device, d_grad_out.get(), d_grad.get()}, nullptr);

  // Products around 1 are summed in another order; dropout multiplies by up to 65536.
  expect_near("out", d_out, out, {3e-5, 2e-5});
  expect_near("log_sums", d_log_sums, log_sums, {1e-5, 1e-5});
  expect_near("grad", d_grad, grad, {1e-4, 1e-4});
}

/// Returns shapes with numbers of tokens around multiples of 128, the size of a tile of keys and of
/// a run of dropout. Some heads fill their registers, and others do not.
std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::size_t tokens : {1U, 2U, 127U, 128U, 129U, 240U, 241U, 256U, 257U})
    for (const std::uint32_t threshold : {0U, 6554U})
      all.push_back({1, tokens, 2, 16, threshold});
  for (const std::size_t head_dim : {1U, 7U, 8U, 9U, 17U, 33U, 64U})
    all.push_back({2, 65, 1, head_dim, 32768});
  all.push_back({1, 1030, 1, 64, 6554});
  all.push_back({3, 1, 5, 64, 65535});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalAttentionSweep, testing::ValuesIn(shapes()));

}  // namespace
}  // namespace mgpu::kernels
