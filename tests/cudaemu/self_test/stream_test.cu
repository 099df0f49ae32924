// Tests streams, events and devices of the emulator.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "../emulator/stream.hpp"
#include "wrong_kernels.cuh"

namespace cudaemu {
namespace {

__global__ void fill_kernel(float* out, float value) {
  out[threadIdx.x] = value;
}

/// Holds up a stream until the test opens the gate.
class Gate {
public:
  void close(cudaStream_t stream) {
    queue_in(stream, [opened = opened_] { opened.wait(); });
  }
  void open() { promise_.set_value(); }

private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
};

class StreamTest : public testing::Test {
protected:
  StreamTest() {
    settings().devices = 2;
    for (cudaStream_t* stream : {&first_, &second_})
      cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, 0);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
  }
  ~StreamTest() override {
    cudaDeviceSynchronize();
    cudaEventDestroy(event_);
    cudaStreamDestroy(first_);
    cudaStreamDestroy(second_);
    settings() = before_;
  }

  Settings before_ = settings();
  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t event_ = nullptr;
  Gate gate_;
};

TEST_F(StreamTest, AnEventHappensWhenTheWorkBeforeItIsDone) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "it was never recorded";
  gate_.close(first_);
  cudaEventRecord(event_, first_);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  gate_.open();
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
}

TEST_F(StreamTest, AStreamWaitsForAnEventOfAnother) {
  std::atomic<bool> has_run = false;
  gate_.close(first_);
  cudaEventRecord(event_, first_);
  cudaStreamWaitEvent(second_, event_, 0);
  queue_in(second_, [&] { has_run = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(has_run);
  gate_.open();
  cudaStreamSynchronize(second_);
  EXPECT_TRUE(has_run);
}

TEST_F(StreamTest, KernelsAndCopiesRunInTheOrderOfTheirStream) {
  std::vector<float> out(kThreads);
  float* data = nullptr;
  cudaMalloc(&data, kThreads * sizeof(float));
  gate_.close(first_);
  fill_kernel<<<1, kThreads, 0, first_>>>(data, 1.0F);
  std::vector<float> two(kThreads, 2.0F);
  cudaMemcpyAsync(data, two.data(), kThreads * sizeof(float), cudaMemcpyDefault, first_);
  two.assign(kThreads, 0.0F);  // pageable memory may be overwritten
  gate_.open();
  cudaMemcpyAsync(out.data(), data, kThreads * sizeof(float), cudaMemcpyDefault, first_);
  EXPECT_EQ(out, std::vector<float>(kThreads, 2.0F)) << "pageable memory is filled at once";
  cudaFree(data);
}

TEST_F(StreamTest, FreeingMemoryWaitsForAllStreams) {
  std::atomic<bool> has_run = false;
  void* data = nullptr;
  cudaMalloc(&data, 1);
  queue_in(first_, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    has_run = true;
  });
  cudaFree(data);
  EXPECT_TRUE(has_run);
}

TEST_F(StreamTest, WithOneConnectionWorkThatWaitsHoldsUpOtherStreams) {
  for (const bool one_connection : {false, true}) {
    settings().one_connection = one_connection;
    Gate gate;
    std::promise<void> has_run;
    gate.close(first_);
    queue_in(first_, [] {});  // cannot begin, and holds up what comes later
    queue_in(second_, [&] { has_run.set_value(); });
    auto run = has_run.get_future();
    const auto patience = std::chrono::milliseconds(one_connection ? 5 : 10000);
    EXPECT_EQ(run.wait_for(patience) == std::future_status::ready, !one_connection);
    gate.open();
    cudaDeviceSynchronize();
  }
}

TEST_F(StreamTest, AStreamBelongsToADevice) {
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  fill_kernel<<<1, kThreads, 0, first_>>>(nullptr, 1.0F);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  EXPECT_EQ(cudaEventRecord(event, first_), cudaErrorInvalidResourceHandle);
  cudaEventDestroy(event);
  cudaSetDevice(0);
}

}  // namespace
}  // namespace cudaemu
