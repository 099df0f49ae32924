// Tests communicators of checked builds. The library mgpu::cluster_checked first compares the calls
// of all ranks in each collective.
#include <functional>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {
namespace {

using testing::HasSubstr;

class CheckedCommunicatorTest : public testing::TestWithParam<Backend> {
protected:
  std::string refusal(const std::function<void(Communicator&)>& call) const {
    try {
      call(*comm_);
    } catch (const ShapeError& e) {
      return e.what();
    }
    return "no ShapeError";
  }

  BufferView view(std::size_t count, DType dtype) { return {words_.data(), count, dtype, {}}; }

  Group world_ = Group::world();
  std::unique_ptr<Communicator> comm_ = make_communicator(world_, GetParam(), {}, {});
  bool is_odd_ = world_.rank() == world_.size() - 1;
  std::vector<std::int64_t> words_ = std::vector<std::int64_t>(16);
};

TEST_P(CheckedCommunicatorTest, UnequalCountsTypesOpsAndRootsAreRefused) {
  const std::string who = "rank " + std::to_string(world_.size() - 1) + " calls ";
  EXPECT_THAT(refusal([&](Communicator& comm) {
                comm.all_reduce(view(is_odd_ ? 0 : 4, DType::f32), ReduceOp::sum);
              }),
              HasSubstr(who + "all_reduce of 0 f32, sum"));
  EXPECT_THAT(refusal([&](Communicator& comm) {
                comm.all_reduce(view(4, is_odd_ ? DType::i32 : DType::f32), ReduceOp::sum);
              }),
              HasSubstr(who + "all_reduce of 4 i32, sum"));
  EXPECT_THAT(refusal([&](Communicator& comm) {
                comm.all_reduce(view(4, DType::f32), is_odd_ ? ReduceOp::max : ReduceOp::sum);
              }),
              HasSubstr(who + "all_reduce of 4 f32, max"));
  EXPECT_THAT(
      refusal([&](Communicator& comm) { comm.broadcast(view(4, DType::f32), is_odd_ ? 1 : 0); }),
      HasSubstr(who + "broadcast of 4 f32, root 1"));
}

TEST_P(CheckedCommunicatorTest, AMessageOfAnotherSizeIsRefused) {
  if (world_.rank() == 0) comm_->send(view(4, DType::f32), 1);
  if (world_.rank() != 1) return;
  EXPECT_THAT(refusal([&](Communicator& comm) { comm.receive(view(5, DType::f32), 0); }),
              HasSubstr("rank 1 calls send_receive of 5 f32, rank 0 calls send_receive of 4 f32"));
}

TEST_P(CheckedCommunicatorTest, UnequalKindsAreRefused) {
  EXPECT_THAT(refusal([&](Communicator& comm) {
                if (is_odd_) {
                  comm.broadcast(view(4, DType::f32), 0);
                } else {
                  comm.all_reduce(view(4, DType::f32), ReduceOp::sum);
                }
              }),
              HasSubstr("broadcast of 4 f32, root 0; the others call all_reduce of 4 f32, sum"));
}

TEST_P(CheckedCommunicatorTest, AnExchangeOfUnequalSizesIsRefusedOnBothSides) {
  const int peer = world_.rank() ^ 1;
  if (peer >= world_.size()) return;  // odd number of ranks: this one has no peer
  const std::size_t count = world_.rank() % 2 == 0 ? 4 : 2;
  std::vector<float> theirs(count);
  EXPECT_THAT(
      refusal([&](Communicator& comm) {
        comm.exchange(view(count, DType::f32), {theirs.data(), count, DType::f32, {}}, peer);
      }),
      HasSubstr("calls exchange of 4 f32"));
}

INSTANTIATE_TEST_SUITE_P(Backends, CheckedCommunicatorTest,
                         testing::Values(Backend::mpi, Backend::staged));

}  // namespace
}  // namespace mgpu::cluster
