// Tests the reducer on CUDA memory with nccl and staged; with one GPU both ranks share it.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/train/gradient_reducer.hpp>

#include "gpu_for_test.hpp"

namespace mgpu::train {
namespace {

using cluster::Backend;

constexpr std::size_t kCount = 100000;
constexpr int kLanes = 4;
const std::vector<ParameterSpan> kParameters = {{0, 30000}, {30000, 20000}, {50000, 50000}};

/// Adds on the host and finishes before it returns, so that the test needs no kernel.
void add_through_host(BufferView into, BufferView from, CUstream_st* stream) {
  std::vector<float> a(into.count);
  std::vector<float> b(into.count);
  const BufferView host_a{a.data(), a.size(), DType::f32, {}};
  const BufferView host_b{b.data(), b.size(), DType::f32, {}};
  const cluster::Event copied(into.device);
  cluster::copy(host_a, into, stream);
  cluster::copy(host_b, from, stream);
  copied.record(stream);
  copied.wait();
  add_on_host(host_a, host_b, nullptr);
  cluster::copy(into, host_a, stream);
  copied.record(stream);
  copied.wait();
}

float gradient(int lane, std::size_t i) {
  return std::sin(static_cast<float>(i % 1000) + 1.0F) * std::exp2(static_cast<float>(lane * 3));
}

float tree_sum(int begin, int n, std::size_t i) {
  if (n == 1) return gradient(begin, i);
  return tree_sum(begin, n / 2, i) + tree_sum(begin + n / 2, n / 2, i);
}

class GpuReducerTest : public testing::TestWithParam<Backend> {
protected:
  void SetUp() override {
    if (device_.kind == DeviceKind::cpu) {
      GTEST_SKIP() << "no GPU: " << cluster::visible_gpus().why_none;
    }
    comm_ = make_communicator(world_, GetParam(), device_, {.timeout_s = 40.0});
    arena_.emplace(device_, kCount * sizeof(float));
    producer_.emplace(device_);
    cluster::zero(view(), producer_->get());
  }

  BufferView view() const { return arena_->view(kCount, DType::f32); }

  /// Imitates the backward pass of a lane: copies still run on the producer stream after parameters
  /// are marked as ready.
  void backward(GradientReducer& reducer, int lane) {
    values_.resize(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      values_[i] = gradient(lane, i);
    for (std::size_t p = kParameters.size(); p-- > 0;) {
      const ParameterSpan& span = kParameters[p];
      cluster::copy(cluster::slice(view(), span.begin, span.count),
                    {values_.data() + span.begin, span.count, DType::f32, {}}, producer_->get());
      reducer.mark_ready(p);
    }
  }

  std::vector<float> read() {
    std::vector<float> values(kCount);
    const cluster::Event copied(device_);
    cluster::copy({values.data(), kCount, DType::f32, {}}, view(), producer_->get());
    copied.record(producer_->get());
    copied.wait();
    return values;
  }

  cluster::Group world_ = cluster::Group::world();
  Device device_ = cluster::gpu_for_test(world_);
  std::unique_ptr<cluster::Communicator> comm_;
  std::optional<cluster::Buffer> arena_;
  std::optional<cluster::Stream> producer_;
  std::vector<float> values_;
};

TEST_P(GpuReducerTest, EqualsTheSumOfOneProcess) {
  GradientReducer reducer(*comm_, {view(), kParameters, nullptr}, {.bucket_bytes = 100000});
  for (int step = 0; step < 2; ++step) {
    reducer.begin_pass(/*is_last=*/true, producer_->get());
    backward(reducer, world_.rank());
    reducer.finish();
    const std::vector<float> sums = read();
    for (std::size_t i = 0; i < kCount; i += 997) {
      float expected = 0.0F;
      for (int rank = 0; rank < world_.size(); ++rank)
        expected += gradient(rank, i);
      EXPECT_EQ(sums[i], expected) << "element " << i;  // the order of two addends does not matter
    }
  }
}

TEST_P(GpuReducerTest, LanesGiveTheBitsOfTheTree) {
  GradientReducer reducer(*comm_, {view(), kParameters, nullptr},
                          {.bucket_bytes = 100000, .lanes = kLanes, .add = add_through_host});
  for (int local = 0; local < reducer.local_lanes(); ++local) {
    const bool is_last = local + 1 == reducer.local_lanes();
    reducer.begin_pass(is_last, producer_->get());
    backward(reducer, world_.rank() * reducer.local_lanes() + local);
    if (!is_last) reducer.end_lane();
  }
  reducer.finish();
  const std::vector<float> sums = read();
  for (std::size_t i = 0; i < kCount; i += 97)
    EXPECT_EQ(sums[i], tree_sum(0, kLanes, i)) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Backends, GpuReducerTest, testing::Values(Backend::staged, Backend::nccl));

}  // namespace
}  // namespace mgpu::train
