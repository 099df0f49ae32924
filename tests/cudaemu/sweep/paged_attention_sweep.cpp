#include <algorithm>
#include <ostream>
#include <random>

#include <mgpu/kernels/paged_attention.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t sequences = 1;
  std::size_t length = 1;      // tokens of each sequence
  std::size_t new_tokens = 1;  // number of queries: the last tokens
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
  std::size_t head_dim = 64;
  std::size_t page_tokens = 16;
  std::int64_t window = 0;
  bool has_sinks = false;
  float scale = 0.0F;  // 0: the usual scale of the head's width

  std::size_t pitch() const { return (length + page_tokens - 1) / page_tokens + 1; }
  std::size_t pages() const { return sequences * pitch(); }
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.sequences << " sequences of " << shape.length << ", " << shape.new_tokens
             << " new, heads " << shape.heads << "/" << shape.kv_heads << " of " << shape.head_dim
             << ", pages of " << shape.page_tokens << ", window " << shape.window
             << (shape.has_sinks ? ", sinks" : "") << ", scale " << shape.scale;
}

/// Returns the first slot of each page, in random order.
std::vector<std::int64_t> page_slots(const Shape& shape) {
  std::vector<std::int64_t> slots(shape.pages());
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = static_cast<std::int64_t>(i * shape.page_tokens);
  std::mt19937 random(7);
  std::shuffle(slots.begin(), slots.end(), random);
  return slots;
}

struct Queries {
  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> positions;

  explicit Queries(const Shape& shape) {
    for (std::size_t s = 0; s < shape.sequences; ++s)
      for (std::size_t n = 0; n < shape.new_tokens; ++n) {
        sequences.push_back(static_cast<std::int64_t>(s));
        positions.push_back(static_cast<std::int64_t>(shape.length - shape.new_tokens + n));
      }
  }
};

PagedAttentionArgs sizes_of(const Shape& shape) {
  PagedAttentionArgs args{};
  args.num_queries = shape.sequences * shape.new_tokens;
  args.heads = shape.heads;
  args.kv_heads = shape.kv_heads;
  args.head_dim = shape.head_dim;
  args.page_tokens = shape.page_tokens;
  args.page_pitch = shape.pitch();
  args.window = shape.window;
  args.scale =
      shape.scale > 0.0F ? shape.scale : 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  return args;
}

class PagedAttentionSweep : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(PagedAttentionSweep, IsTheCpus) {
  const Shape& shape = GetParam();
  const Queries which(shape);
  const std::vector<std::int64_t> slots = page_slots(shape);
  const std::vector<float> q = normals(which.positions.size() * shape.heads * shape.head_dim, 1);
  const std::vector<float> k =
      normals(shape.pages() * shape.page_tokens * shape.kv_heads * shape.head_dim, 2);
  const std::vector<float> v = normals(k.size(), 3);
  const std::vector<float> sinks = normals(shape.heads, 4, 2.0F);
  std::vector<float> expected(q.size(), kUntouched);
  const OnDevice d_q(q), d_k(k), d_v(v), d_sinks(sinks), d_out(expected);
  const OnDevice d_slots(slots), d_sequences(which.sequences), d_positions(which.positions);
  PagedAttentionArgs args = sizes_of(shape);
  args.queries = q.data();
  args.keys = k.data();
  args.values = v.data();
  args.out = expected.data();
  args.page_slots = slots.data();
  args.sequences = which.sequences.data();
  args.positions = which.positions.data();
  if (shape.has_sinks) args.sinks = sinks.data();
  cpu::paged_attention(args);

  args.queries = d_q.get();
  args.keys = d_k.get();
  args.values = d_v.get();
  args.out = d_out.get();
  args.page_slots = d_slots.get();
  args.sequences = d_sequences.get();
  args.positions = d_positions.get();
  if (shape.has_sinks) args.sinks = d_sinks.get();
  cuda::paged_attention(args, nullptr);

  // Products around 1 are summed in another order.
  expect_near("out", d_out, expected, {2e-5, 1e-5});
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const bool sinks : {false, true}) {
    for (const std::size_t width : {1U, 31U, 64U, 80U, 96U, 128U, 256U})
      all.push_back({2, 37, 3, 4, 2, width, 16, 0, sinks});
    for (const std::int64_t window : {1, 2, 5, 128, 4096})
      all.push_back({1, 300, 2, 2, 1, 80, 16, window, sinks});
  }
  for (const auto& [heads, kv_heads] :
       {std::pair{1U, 1U}, {7U, 7U}, {14U, 2U}, {32U, 8U}, {71U, 1U}})
    all.push_back({1, 19, 19, heads, kv_heads, 64, 7});
  all.push_back({1, 1, 1, 1, 1, 1, 1});
  all.push_back({1, 4099, 1, 4, 1, 128, 16, 0, true});
  all.push_back({1, 20011, 1, 1, 1, 64, 256});
  all.push_back({3, 65, 65, 2, 2, 96, 1});
  all.push_back({1, 200, 2, 2, 1, 128, 16, 0, false, 30.0F});
  all.push_back({0, 5, 1, 2, 1, 64, 16});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, PagedAttentionSweep, testing::ValuesIn(shapes()));

}  // namespace
}  // namespace mgpu::kernels
