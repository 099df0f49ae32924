// Tests two communicators of one GPU in two threads, as in a pipeline of ranks.
#include <atomic>
#include <thread>

#include "nccl_test.hpp"

namespace mgpu::cluster {
namespace {

class ThreadsTest : public NcclTest {
protected:
  std::unique_ptr<Communicator> first_ = make(kPatient);
  std::unique_ptr<Communicator> second_ = make(kPatient);
};

TEST_F(ThreadsTest, TwoCommunicatorsSumAtTheSameTime) {
  if (std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr)
    GTEST_SKIP() << "sums of two threads need two connections";
  constexpr int kRounds = 30;
  const Buffer other_values(device_, 64);
  std::vector<float> sums;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i)
      sums.push_back(sum_of_ones(*first_, other_values, device_));
  });
  for (int i = 0; i < kRounds; ++i)
    expect_sum(*second_);
  other.join();
  EXPECT_EQ(sums, std::vector<float>(kRounds, static_cast<float>(world_.size())));
}

// Each rank receives in one thread and sends in another. The test also runs with one connection
// to the GPU, where waiting work holds up all work that was queued after it.
TEST_F(ThreadsTest, ARankReceivesInOneThreadAndSendsInAnother) {
  constexpr int kPasses = 20;
  constexpr std::size_t kCount = 1000;
  Communicator& receiver = world_.rank() % 2 == 0 ? *second_ : *first_;
  Communicator& sender = world_.rank() % 2 == 0 ? *first_ : *second_;
  const Buffer memory(device_, kPasses * kCount * sizeof(float));
  const BufferView all = memory.view(kPasses * kCount, DType::f32);
  const Stream stream(device_);
  std::vector<float> values(all.count);
  const Event filled(device_);
  if (is_rank(0)) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    copy(all, {values.data(), values.size(), DType::f32, {}}, stream.get());
    filled.record(stream.get());
    filled.wait();
  }
  std::atomic<int> passes = is_rank(0) ? kPasses : 0;
  std::thread sends([&] {
    if (world_.rank() + 1 == world_.size()) return;
    for (int pass = 0; pass < kPasses; ++pass) {
      while (passes <= pass)
        std::this_thread::yield();
      sender.send(slice(all, static_cast<std::size_t>(pass) * kCount, kCount), world_.rank() + 1);
    }
  });
  for (int pass = 0; pass < kPasses && world_.rank() > 0; ++pass) {
    receiver.receive(slice(all, static_cast<std::size_t>(pass) * kCount, kCount),
                     world_.rank() - 1);
    ++passes;
  }
  sends.join();
  copy({values.data(), values.size(), DType::f32, {}}, all, stream.get());
  filled.record(stream.get());
  filled.wait();
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(i));
}

}  // namespace
}  // namespace mgpu::cluster
