// Tests the backends that work without a GPU: mpi, and staged with the CPU as the device.
#include <bit>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>

namespace mgpu::cluster {
namespace {

template <class T>
BufferView view_of(std::vector<T>& values, DType dtype) {
  return {values.data(), values.size(), dtype, {}};
}

struct Setup {
  Backend backend;
  std::size_t piece_bytes;
};

class CommunicatorTest : public testing::TestWithParam<Setup> {
protected:
  std::unique_ptr<Communicator> make(double timeout_s = 60.0) const {
    return make_communicator(world_, GetParam().backend, {}, {timeout_s, GetParam().piece_bytes});
  }

  /// Returns 1 + 2 + ... + ranks.
  int rank_sum() const { return world_.size() * (world_.size() + 1) / 2; }

  Group world_ = Group::world();
};

TEST_P(CommunicatorTest, KnowsItsRanksAndItsName) {
  const auto comm = make();
  EXPECT_EQ(comm->rank(), world_.rank());
  EXPECT_EQ(comm->size(), world_.size());
  EXPECT_EQ(comm->name(), name_of(GetParam().backend));
}

template <class T>
void expect_sums(Communicator& comm, DType dtype, int rank_sum) {
  // With the last size and 4-byte elements, each segment of the ring has 1 MiB, but one has an
  // element more.
  const std::size_t uneven = (std::size_t{1} << 18) * static_cast<std::size_t>(comm.size()) + 1;
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{20011}, uneven}) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<T>((i % 7) * static_cast<std::size_t>(comm.rank() + 1));
    comm.all_reduce(view_of(values, dtype), ReduceOp::sum);
    for (std::size_t i = 0; i < n; ++i) {
      const auto expected = static_cast<T>((i % 7) * static_cast<std::size_t>(rank_sum));
      if (values[i] == expected) continue;
      ADD_FAILURE() << "n " << n << ", element " << i << ", type " << static_cast<int>(dtype);
      return;
    }
  }
}

TEST_P(CommunicatorTest, SumsEveryType) {
  const auto comm = make();
  expect_sums<float>(*comm, DType::f32, rank_sum());
  expect_sums<double>(*comm, DType::f64, rank_sum());
  expect_sums<std::int32_t>(*comm, DType::i32, rank_sum());
  expect_sums<std::int64_t>(*comm, DType::i64, rank_sum());
}

TEST_P(CommunicatorTest, MinimumAndMaximum) {
  const auto comm = make();
  const auto mine = static_cast<float>(world_.rank());
  std::vector<float> low(10000, mine);
  std::vector<float> high(10000, mine);

  comm->all_reduce(view_of(low, DType::f32), ReduceOp::min);
  comm->all_reduce(view_of(high, DType::f32), ReduceOp::max);

  EXPECT_EQ(low, std::vector<float>(10000, 0.0F));
  EXPECT_EQ(high, std::vector<float>(10000, static_cast<float>(world_.size() - 1)));
}

TEST_P(CommunicatorTest, SixteenBitFloatsRoundOnce) {
  const auto comm = make();
  // bf16 has 8 bits: above 256 it holds even numbers only. 256 + 1 + 1 = 258 would be 256 if
  // each addition rounded.
  std::vector<std::uint16_t> bf16(20001, world_.rank() == 0 ? 0x4380U : 0x3F80U);  // 256 or 1
  const int total = 256 + world_.size() - 1;
  const int rounded = total == 257 ? 256 : total == 259 ? 260 : total;
  comm->all_reduce(view_of(bf16, DType::bf16), ReduceOp::sum);
  const auto expected =
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(rounded)) >> 16);
  EXPECT_EQ(bf16, std::vector<std::uint16_t>(20001, expected));

  // f16 has 11 bits, so small integers are exact: 1 is 0x3C00, 2 0x4000, 3 0x4200, 4 0x4400.
  const std::vector<std::uint16_t> exact{0, 0x3C00, 0x4000, 0x4200, 0x4400};
  std::vector<std::uint16_t> f16(20001, 0x3C00);
  comm->all_reduce(view_of(f16, DType::f16), ReduceOp::sum);
  EXPECT_EQ(f16, std::vector<std::uint16_t>(20001, exact[static_cast<std::size_t>(world_.size())]));
}

TEST_P(CommunicatorTest, AllRanksEndWithTheSameBits) {
  const auto comm = make();
  std::vector<float> values(9001);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * static_cast<float>(world_.rank() + 1));

  comm->all_reduce(view_of(values, DType::f32), ReduceOp::sum);

  const std::string mine(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  EXPECT_EQ(world_.broadcast(mine, 0), mine);
}

TEST_P(CommunicatorTest, BroadcastsTheRootsBytes) {
  const auto comm = make();
  for (int root = 0; root < world_.size(); ++root) {
    std::vector<std::int32_t> values(3001, world_.rank());
    comm->broadcast(view_of(values, DType::i32), root);
    EXPECT_EQ(values, std::vector<std::int32_t>(3001, root));
  }
}

TEST_P(CommunicatorTest, ExchangesWithAPeer) {
  const auto comm = make();
  const int peer = world_.rank() ^ 1;
  if (peer >= world_.size()) return;  // odd number of ranks: this one has no peer
  for (const std::size_t n : {std::size_t{0}, std::size_t{3001}}) {
    std::vector<double> mine(n, world_.rank());
    std::vector<double> theirs(n, -1.0);
    comm->exchange(view_of(mine, DType::f64), view_of(theirs, DType::f64), peer);
    EXPECT_EQ(theirs, std::vector<double>(n, peer));
    EXPECT_EQ(mine, std::vector<double>(n, world_.rank()));
  }
}

TEST_P(CommunicatorTest, PassesOnAlongTheRanks) {
  const auto comm = make();
  for (const std::size_t n : {std::size_t{0}, std::size_t{7}, std::size_t{30001}}) {
    std::vector<double> values(n, 0.5);
    if (world_.rank() > 0) comm->receive(view_of(values, DType::f64), world_.rank() - 1);
    EXPECT_EQ(values, std::vector<double>(n, 0.5 + world_.rank()));
    for (double& value : values)
      value += 1.0;
    if (world_.rank() + 1 < world_.size())
      comm->send(view_of(values, DType::f64), world_.rank() + 1);
  }
}

TEST_P(CommunicatorTest, WorksBesideTheGroupOnAnotherThread) {
  const auto comm = make();
  std::vector<std::int64_t> values(5000, 1);
  std::thread other([&] {
    for (int i = 0; i < 20; ++i)
      comm->all_reduce(view_of(values, DType::i64), ReduceOp::max);
  });
  std::int64_t total = 0;
  for (int i = 0; i < 20; ++i)
    total += world_.all_reduce(std::int64_t{1});
  other.join();

  EXPECT_EQ(total, 20 * world_.size());
  EXPECT_EQ(values, std::vector<std::int64_t>(5000, 1));
}

TEST_P(CommunicatorTest, RefusesMemoryOfAnotherDevice) {
  const auto comm = make();
  std::vector<float> values(3);
  BufferView view = view_of(values, DType::f32);
  view.device = {DeviceKind::cuda, 0};
  EXPECT_THROW(comm->all_reduce(view, ReduceOp::sum), Error);
}

INSTANTIATE_TEST_SUITE_P(Backends, CommunicatorTest,
                         testing::Values(Setup{Backend::mpi, std::size_t{64} << 20},
                                         Setup{Backend::mpi, 1000}, Setup{Backend::mpi, 50000},
                                         Setup{Backend::staged, std::size_t{64} << 20},
                                         Setup{Backend::staged, 1000}));

/// Makes a call on rank 0 that the other ranks never make. Returns the report of its failure.
ErrorReport report_of_lone_call(Communicator& comm, std::vector<float>& values) {
  try {
    comm.all_reduce(view_of(values, DType::f32), ReduceOp::sum);
  } catch (const Failure& e) {
    return e.report();
  }
  return {};
}

TEST(CommunicatorFailureTest, APeerThatDoesNotComeIsAFailureAtTheDeadline) {
  const Group world = Group::world();
  if (world.size() == 1) GTEST_SKIP() << "one rank has no peers";
  const auto comm = make_communicator(world, Backend::mpi, {}, {.timeout_s = 0.2});
  static std::vector<float> values(100000);  // static: MPI may still write to it
  if (world.rank() == 0) {
    const ErrorReport report = report_of_lone_call(*comm, values);
    EXPECT_EQ(report.code, "E402");
    EXPECT_EQ(report.exit, ExitCode::ranks_lost);
    EXPECT_EQ(report.sentence,
              "all_reduce of 100000 f32, sum (call 1) was not finished within 0.2 s");
    EXPECT_EQ(report_of_lone_call(*comm, values).code, "E403") << "a dead communicator answered";
  }
  world.barrier();
}

TEST(CommunicatorFailureTest, ACallIsGivenUpFromAnotherThread) {
  const Group world = Group::world();
  if (world.size() == 1) GTEST_SKIP() << "one rank has no peers";
  const auto comm = make_communicator(world, Backend::mpi, {}, {});
  static std::vector<float> values(100000);  // static: MPI may still write to it
  if (world.rank() == 0) {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      comm->cancel();
    });
    EXPECT_EQ(report_of_lone_call(*comm, values).code, "E403");
    other.join();
    EXPECT_EQ(report_of_lone_call(*comm, values).code, "E403") << "a canceled one answered";
  }
  world.barrier();
}

}  // namespace
}  // namespace mgpu::cluster
