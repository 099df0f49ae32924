// Tests the backends nccl and staged on CUDA memory; with one GPU both ranks share it.
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

#include "gpu_for_test.hpp"

namespace mgpu::cluster {
namespace {

/// A copy of a vector in device memory.
template <class T>
class OnDevice {
public:
  OnDevice(Device device, std::vector<T> values, DType dtype)
      : values_(std::move(values)),
        dtype_(dtype),
        stream_(device),
        copied_(device),
        buffer_(device, values_.size() * sizeof(T)) {
    copy(view(), host(), stream_.get());
    copied_.record(stream_.get());
  }

  BufferView view() const { return buffer_.view(values_.size(), dtype_); }

  /// Returns the event recorded after the copy that fills the buffer.
  CUevent_st* produced() const { return copied_.get(); }

  std::vector<T> read() {
    copy(host(), view(), stream_.get());
    copied_.record(stream_.get());
    copied_.wait();
    return values_;
  }

private:
  BufferView host() { return {values_.data(), values_.size(), dtype_, {}}; }

  std::vector<T> values_;
  DType dtype_;
  Stream stream_;
  Event copied_;
  Buffer buffer_;
};

class GpuCommunicatorTest : public testing::TestWithParam<Backend> {
protected:
  void SetUp() override {
    if (device_.kind == DeviceKind::cpu) GTEST_SKIP() << "no GPU: " << visible_gpus().why_none;
    comm_ = make_communicator(world_, GetParam(), device_, {.timeout_s = 40.0});
  }

  Group world_ = Group::world();
  Device device_ = gpu_for_test(world_);
  std::unique_ptr<Communicator> comm_;
};

TEST_P(GpuCommunicatorTest, SumsEveryType) {
  const int sum = world_.size() * (world_.size() + 1) / 2;
  const int mine = world_.rank() + 1;
  // The staged backend copies 12 MB in several pieces.
  OnDevice<float> f32(device_, std::vector<float>(3000001, static_cast<float>(mine)), DType::f32);
  comm_->wait_for(f32.produced());
  comm_->all_reduce(f32.view(), ReduceOp::sum);
  EXPECT_EQ(f32.read(), std::vector<float>(3000001, static_cast<float>(sum)));

  OnDevice<std::int64_t> i64(device_, std::vector<std::int64_t>(1001, mine), DType::i64);
  comm_->wait_for(i64.produced());
  comm_->all_reduce(i64.view(), ReduceOp::sum);
  EXPECT_EQ(i64.read(), std::vector<std::int64_t>(1001, sum));

  // 1 in bf16 is 0x3F80, 2 is 0x4000, 4 is 0x4080.
  const std::vector<std::uint16_t> counts{0, 0x3F80, 0x4000, 0x4040, 0x4080};
  OnDevice<std::uint16_t> bf16(device_, std::vector<std::uint16_t>(1001, 0x3F80), DType::bf16);
  comm_->wait_for(bf16.produced());
  comm_->all_reduce(bf16.view(), ReduceOp::sum);
  EXPECT_EQ(bf16.read(),
            std::vector<std::uint16_t>(1001, counts.at(static_cast<std::size_t>(world_.size()))));
}

TEST_P(GpuCommunicatorTest, MinimumMaximumAndNothing) {
  OnDevice<double> low(device_, std::vector<double>(77, world_.rank()), DType::f64);
  comm_->wait_for(low.produced());
  comm_->all_reduce(low.view(), ReduceOp::min);
  EXPECT_EQ(low.read(), std::vector<double>(77, 0.0));

  OnDevice<std::int32_t> high(device_, std::vector<std::int32_t>(77, world_.rank()), DType::i32);
  comm_->wait_for(high.produced());
  comm_->all_reduce(high.view(), ReduceOp::max);
  EXPECT_EQ(high.read(), std::vector<std::int32_t>(77, world_.size() - 1));

  const OnDevice<float> none(device_, {}, DType::f32);
  EXPECT_NO_THROW(comm_->all_reduce(none.view(), ReduceOp::sum));
}

TEST_P(GpuCommunicatorTest, BroadcastsAndExchanges) {
  const int last = world_.size() - 1;
  OnDevice<std::int32_t> values(device_, std::vector<std::int32_t>(501, world_.rank()), DType::i32);
  comm_->wait_for(values.produced());
  comm_->broadcast(values.view(), last);
  EXPECT_EQ(values.read(), std::vector<std::int32_t>(501, last));

  const int peer = world_.rank() ^ 1;
  if (peer >= world_.size()) return;  // odd number of ranks: this one has no peer
  const OnDevice<float> mine(device_, std::vector<float>(501, static_cast<float>(world_.rank())),
                             DType::f32);
  OnDevice<float> theirs(device_, std::vector<float>(501, -1.0F), DType::f32);
  comm_->wait_for(mine.produced());
  comm_->wait_for(theirs.produced());
  comm_->exchange(mine.view(), theirs.view(), peer);
  EXPECT_EQ(theirs.read(), std::vector<float>(501, static_cast<float>(peer)));
}

TEST_P(GpuCommunicatorTest, RefusesHostMemory) {
  if (GetParam() == Backend::staged) return;  // accepts both
  float value = 0.0F;
  EXPECT_THROW(comm_->all_reduce({&value, 1, DType::f32, {}}, ReduceOp::sum), Error);
}

TEST_P(GpuCommunicatorTest, APeerThatDoesNotComeIsAFailureAtTheDeadline) {
  if (world_.size() == 1) GTEST_SKIP() << "one rank has no peers";
  auto comm = make_communicator(world_, GetParam(), device_, {.timeout_s = 5.0});
  const OnDevice<float> values(device_, std::vector<float>(100000), DType::f32);
  // NCCL's transports connect in the first call, which all ranks make.
  comm->wait_for(values.produced());
  comm->all_reduce(values.view(), ReduceOp::sum);
  if (world_.rank() == 0) {
    try {
      comm->all_reduce(values.view(), ReduceOp::sum);
      ADD_FAILURE() << "all_reduce came back without the peers";
    } catch (const Failure& e) {
      EXPECT_EQ(e.report().code, "E402");
    }
    EXPECT_THROW(comm->all_reduce(values.view(), ReduceOp::sum), Failure);
  }
  world_.barrier();
  if (world_.rank() != 0) comm->cancel();  // its peer has aborted, so destroying would wait
}

INSTANTIATE_TEST_SUITE_P(Backends, GpuCommunicatorTest,
                         testing::Values(Backend::staged, Backend::nccl));

}  // namespace
}  // namespace mgpu::cluster
