// Tests that no rank hangs when NCCL is late, fails, or never answers.
#include <chrono>
#include <thread>

#include <cuda_runtime_api.h>

#include "nccl_test.hpp"

namespace mgpu::cluster {
namespace {

using testing::HasSubstr;

/// Calls the barrier on the first thread only, so that it never opens.
void stuck_kernel(int /*unused*/) {
  if (threadIdx.x == 0) __syncthreads();
}

class FailureTest : public NcclTest {
protected:
  void SetUp() override {
    if (is_alone()) GTEST_SKIP() << "one rank has no peers";
  }

  ErrorReport report_of_connecting(double timeout_s) const {
    return report_from([&] { make(timeout_s); });
  }

  /// Expects the sum of ones, and waits until all ranks have it. So a rank that fails next cannot
  /// disturb a slower one. Ranks: collective.
  void expect_sum_on_all(Communicator& communicator) const {
    expect_sum(communicator);
    world_.barrier();
  }
};

TEST_F(FailureTest, NcclThatNeverStartsIsAFailureAtTheDeadline) {
  tell("init@1=never");
  const ErrorReport report = report_of_connecting(kShort);
  EXPECT_EQ(report.code, "E402") << report.sentence;
  EXPECT_THAT(report.sentence, HasSubstr("was not finished within 1 s"));
}

// The other ranks do not wait until their deadline for a rank that has failed.
TEST_F(FailureTest, AllRanksFailWhenNcclFailsToStartOnOne) {
  for (const char* rules :
       {"init@1=error peers=silent", "init@1=async_error peers=silent", "get_unique_id=error"}) {
    tell(rules);
    const ErrorReport report = report_of_connecting(kPatient);
    EXPECT_EQ(report.code, "E403") << rules << ": " << report.sentence;
  }
}

TEST_F(FailureTest, ACallThatNeverEndsIsAFailureAtTheDeadline) {
  tell("all_reduce.2=never");
  const auto communicator = make(kShort);
  expect_sum_on_all(*communicator);
  const ErrorReport report = expect_failure(*communicator, "E402");
  EXPECT_EQ(report.sentence, "all_reduce of 1 f32, sum (call 3) was not finished within 1 s");
}

TEST_F(FailureTest, ACallThatIsNeverIssuedIsAFailureAtTheDeadline) {
  tell("all_reduce.2=in_progress:1000");
  const auto communicator = make(kShort);
  expect_sum_on_all(*communicator);
  expect_failure(*communicator, "E402");
}

TEST_F(FailureTest, ACallThatNcclRefusesIsAFailure) {
  tell("all_reduce.2@1=error");
  const auto communicator = make(kShort);
  expect_sum_on_all(*communicator);
  const ErrorReport report = expect_failure(*communicator, "E403");
  const char* reason = is_rank(1) ? "unhandled system error" : "remote process exited";
  EXPECT_THAT(report.sentence, HasSubstr(std::string("failed: NCCL says ") + reason));
}

// All ranks get this error. With peers=silent, no rank notices the failure of a peer first.
TEST_F(FailureTest, AnAsynchronousErrorEndsTheCall) {
  tell("all_reduce.2=async_error peers=silent");
  const auto communicator = make(kPatient);
  expect_sum_on_all(*communicator);
  EXPECT_THAT(expect_failure(*communicator, "E403").sentence, HasSubstr("unhandled system error"));
}

TEST_F(FailureTest, ALostPeerEndsTheCall) {
  tell("all_reduce.2@1=lost");
  const auto communicator = make(kShort);
  expect_sum_on_all(*communicator);
  expect_failure(*communicator, is_rank(1) ? "E402" : "E403");
}

TEST_F(FailureTest, AnErrorInsideAnExchangeClosesTheGroup) {
  if (world_.size() != 2) GTEST_SKIP() << "a pair exchanges";
  const BufferView view = values_.view(2, DType::f32);
  for (const char* rules : {"send@0=error", "receive@0=error", "group@0=error"}) {
    tell(rules);
    const auto communicator = make(kShort);
    const int peer = 1 - world_.rank();
    const auto exchange = [&] {
      communicator->exchange(slice(view, 0, 1), slice(view, 1, 1), peer);
    };
    EXPECT_EQ(report_from(exchange).code, "E403") << rules;
    EXPECT_EQ(report_from(exchange).code, "E403") << rules;
  }
}

TEST_F(FailureTest, ACallIsGivenUpFromAnotherThread) {
  tell("all_reduce.2=never peers=silent");
  const auto communicator = make(kPatient);
  expect_sum_on_all(*communicator);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    communicator->cancel();
  });
  EXPECT_THAT(expect_failure(*communicator, "E403").sentence, HasSubstr("was given up"));
  other.join();
}

TEST_F(FailureTest, TheEndOfACommunicatorHasADeadlineToo) {
  for (const char* rules : {"finalize=never", "finalize=error", "finalize@1=lost"}) {
    tell(rules);
    const auto communicator = make(kShort);
    expect_sum_on_all(*communicator);
  }
}

TEST_F(FailureTest, ADestructionThatHangsIsLeftAlone) {
  tell("destroy=hang");
  const auto communicator = make(kPatient);
  expect_sum_on_all(*communicator);
}

TEST_F(FailureTest, ACallFailsAfterAKernelHasFailed) {
  const auto communicator = make(kPatient);
  cudaemu::Kernel("stuck", stuck_kernel).on(1, 2)(0);
  EXPECT_NE(report_from([&] { sum_of_ones(*communicator); }).code, "");
  cudaGetLastError();
  const ErrorReport report = report_from([&] { sum_of_ones(*communicator); });
  EXPECT_THAT(report.sentence, HasSubstr("an earlier call of this communicator failed"));
}

TEST_F(FailureTest, ARankThatHangsInNcclIsLeftAlone) {
  tell("init@1=hang");
  if (is_rank(1)) {
    std::thread([group = world_.duplicate(), device = device_] {
      make_communicator(group, Backend::nccl, device);
    }).detach();
  } else {
    const Group group = world_.duplicate();
    const ErrorReport report = report_from(
        [&] { make_communicator(group, Backend::nccl, device_, {.timeout_s = kShort}); });
    EXPECT_EQ(report.code, "E402") << report.sentence;
  }
  world_.barrier();
}

// The thread of the hanging call and its work on the GPU stay until the process ends. cudaFree()
// would wait for that work. So device memory is not freed after this test, which is the last one.
TEST_F(FailureTest, LastAnAbortThatHangsIsLeftAlone) {
  tell("all_reduce.2=never abort=hang");
  const auto communicator = make(kShort);
  const Buffer more(device_, 64);
  expect_sum_on_all(*communicator);
  expect_failure(*communicator, "E402");
}

}  // namespace
}  // namespace mgpu::cluster
