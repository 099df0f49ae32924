// Contains the fixture that tests of communicators on emulated GPUs share.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

namespace mgpu::cluster {

/// The deadline in seconds of calls that succeed.
inline constexpr double kPatient = 60.0;
/// The deadline in seconds of calls that must time out. It is long enough to connect on a busy
/// machine.
inline constexpr double kShort = 1.0;

class NcclTest : public testing::Test {
protected:
  ~NcclTest() override { tell(""); }

  /// Sets the rules that the stand-in follows for the communicators that this rank makes next.
  static void tell(const char* rules) { setenv("CUDAEMU_NCCL", rules, 1); }

  bool is_alone() const { return world_.size() == 1; }
  bool is_rank(int rank) const { return world_.rank() == rank; }

  std::unique_ptr<Communicator> make(double timeout_s, Backend backend = Backend::nccl) const {
    return make_communicator(world_, backend, device_, {.timeout_s = timeout_s});
  }

  /// Returns the report of what `step` throws, or an empty one.
  template <class Step>
  static ErrorReport report_from(const Step& step) {
    try {
      step();
    } catch (const std::exception& error) {
      return report_of(error);
    }
    return {};
  }

  /// Sums the number 1 over all ranks on the device, and returns the sum. Ranks: collective.
  static float sum_of_ones(Communicator& communicator, const Buffer& buffer, Device device) {
    float value = 1.0F;
    const Stream stream(device);
    const Event copied(device);
    const BufferView host{&value, 1, DType::f32, {}};
    copy(buffer.view(1, DType::f32), host, stream.get());
    copied.record(stream.get());
    communicator.wait_for(copied.get());
    communicator.all_reduce(buffer.view(1, DType::f32), ReduceOp::sum);
    copy(host, buffer.view(1, DType::f32), stream.get());
    copied.record(stream.get());
    copied.wait();
    return value;
  }

  float sum_of_ones(Communicator& communicator) const {
    return sum_of_ones(communicator, values_, device_);
  }

  void expect_sum(Communicator& communicator) const {
    EXPECT_EQ(sum_of_ones(communicator), static_cast<float>(world_.size()));
  }

  /// Expects that a sum fails with this code, and that the next sum fails with E403. Returns the
  /// report of the first failure.
  ErrorReport expect_failure(Communicator& communicator, const std::string& code) const {
    const ErrorReport report = report_from([&] { sum_of_ones(communicator); });
    EXPECT_EQ(report.code, code) << report.sentence;
    EXPECT_EQ(report_from([&] { sum_of_ones(communicator); }).code, "E403") << "it still answers";
    return report;
  }

  Group world_ = Group::world();
  Device device_{DeviceKind::cuda, world_.rank()};
  Buffer values_{device_, 1 << 16};
};

}  // namespace mgpu::cluster
