// Compares the values of NCCL's stand-in and of the staged communicator with those of backend mpi.
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include <mgpu/base/half_float.hpp>

#include "nccl_test.hpp"

namespace mgpu::cluster {
namespace {

using Bytes = std::vector<std::byte>;

/// Returns `count` values of a type, different on each rank.
Bytes values_of(DType dtype, std::size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) * 100U + static_cast<unsigned>(dtype));
  std::uniform_int_distribution<int> whole(-1000, 1000);
  Bytes bytes(count * size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const int n = whole(random);
    const auto put = [&](auto value) {
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    };
    switch (dtype) {
      case DType::f32:
        put(std::sin(static_cast<float>(n)));
        break;
      case DType::f64:
        put(std::sin(static_cast<double>(n)));
        break;
      case DType::f16:
        put(to_f16(static_cast<float>(n) / 8.0F));
        break;
      case DType::bf16:
        put(to_bf16(static_cast<float>(n % 100)));
        break;
      case DType::i64:
        put(std::int64_t{n} << 40);
        break;
      default:
        put(n);
    }
  }
  return bytes;
}

class ValuesTest : public NcclTest, public testing::WithParamInterface<Backend> {
protected:
  using Step = std::function<void(Communicator&, BufferView)>;

  /// Returns the values that `step` leaves in a buffer on the device of the backend.
  Bytes after(Communicator& communicator, Device device, Bytes bytes, DType dtype,
              const Step& step) const {
    const Stream stream(device);
    const Event copied(device);
    const Buffer buffer(device, bytes.size());
    const BufferView host{bytes.data(), bytes.size() / size_of(dtype), dtype, {}};
    const BufferView view = buffer.view(host.count, dtype);
    copy(view, host, stream.get());
    copied.record(stream.get());
    communicator.wait_for(copied.get());
    step(communicator, view);
    copy(host, view, stream.get());
    copied.record(stream.get());
    copied.wait();
    return bytes;
  }

  /// Returns the values that `step` leaves with this backend, and those with backend mpi.
  std::pair<Bytes, Bytes> both(DType dtype, std::size_t count, const Step& step) const {
    const Bytes mine = values_of(dtype, count, world_.rank());
    return {after(*here_, device_, mine, dtype, step), after(*mpi_, {}, mine, dtype, step)};
  }

  void expect_equal(DType dtype, std::size_t count, const Step& step) const {
    const auto [here, mpi] = both(dtype, count, step);
    EXPECT_TRUE(here == mpi) << count << " of type " << static_cast<int>(dtype);
  }

  std::unique_ptr<Communicator> here_ = make(kPatient, GetParam());
  std::unique_ptr<Communicator> mpi_ = make_communicator(world_, Backend::mpi, {});
};

// With three or more ranks, the backends may add floats in different orders, and so round
// differently.
TEST_P(ValuesTest, Sums) {
  const auto sum = [](Communicator& comm, BufferView view) {
    comm.all_reduce(view, ReduceOp::sum);
  };
  for (const std::size_t count : {0U, 1U, 1000U, 70001U})
    for (const DType dtype : {DType::i32, DType::i64, DType::f16, DType::bf16})
      expect_equal(dtype, count, sum);
  const auto [here, mpi] = both(DType::f32, 70001, sum);
  for (std::size_t i = 0; i < here.size(); i += sizeof(float)) {
    float mine = 0.0F;
    float theirs = 0.0F;
    std::memcpy(&mine, &here[i], sizeof mine);
    std::memcpy(&theirs, &mpi[i], sizeof theirs);
    ASSERT_NEAR(mine, theirs, world_.size() <= 2 ? 0.0 : 1e-6) << "element " << i / sizeof(float);
  }
}

TEST_P(ValuesTest, LeastAndGreatest) {
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32})
      expect_equal(dtype, 70001,
                   [op](Communicator& comm, BufferView view) { comm.all_reduce(view, op); });
}

TEST_P(ValuesTest, Broadcasts) {
  for (int root = 0; root < world_.size(); ++root)
    for (const std::size_t count : {0U, 1U, 70001U})
      expect_equal(DType::f32, count,
                   [root](Communicator& comm, BufferView view) { comm.broadcast(view, root); });
}

TEST_P(ValuesTest, ExchangesOfHalves) {
  const int peer = world_.rank() ^ 1;
  if (peer >= world_.size()) return;
  for (const std::size_t count : {0U, 2U, 70000U})
    expect_equal(DType::f64, count, [peer](Communicator& comm, BufferView view) {
      const std::size_t half = view.count / 2;
      comm.exchange(slice(view, 0, half), slice(view, half, half), peer);
    });
}

TEST_P(ValuesTest, PassesOnAlongTheRanks) {
  for (const std::size_t count : {1U, 70001U})
    expect_equal(DType::i64, count, [this](Communicator& comm, BufferView view) {
      if (world_.rank() > 0) comm.receive(view, world_.rank() - 1);
      if (world_.rank() + 1 < world_.size()) comm.send(view, world_.rank() + 1);
    });
}

INSTANTIATE_TEST_SUITE_P(Backends, ValuesTest, testing::Values(Backend::nccl, Backend::staged));

// With the first rules, each call is issued some time after it has returned. With the second rules,
// rank 0 begins its work late.
TEST_F(NcclTest, CallsThatAreIssuedOrRunLateGiveTheSameValues) {
  for (const char* rules :
       {"init=in_progress:0.05 all_reduce=in_progress:0.02 finalize=in_progress:0.05",
        "init@0=late:0.05 all_reduce@0=late:0.05 finalize@0=late:0.05"}) {
    tell(rules);
    const auto communicator = make(kPatient);
    for (int i = 0; i < 3; ++i)
      expect_sum(*communicator);
  }
}

TEST_F(NcclTest, AnExchangeThatIsIssuedLateGivesTheSameValues) {
  const int peer = world_.rank() ^ 1;
  tell("group=in_progress:0.02");
  const auto communicator = make(kPatient);
  if (peer >= world_.size()) return;
  float value = static_cast<float>(world_.rank());
  const Stream stream(device_);
  const Event copied(device_);
  const BufferView host{&value, 1, DType::f32, {}};
  const BufferView mine = values_.view(2, DType::f32);
  copy(slice(mine, 0, 1), host, stream.get());
  copied.record(stream.get());
  communicator->wait_for(copied.get());
  communicator->exchange(slice(mine, 0, 1), slice(mine, 1, 1), peer);
  copy(host, slice(mine, 1, 1), stream.get());
  copied.record(stream.get());
  copied.wait();
  EXPECT_EQ(value, static_cast<float>(peer));
}

}  // namespace
}  // namespace mgpu::cluster
