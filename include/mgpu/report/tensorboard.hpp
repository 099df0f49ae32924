#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sinks.hpp>

namespace mgpu::report {

/// A chart of TensorBoard's Custom Scalars page: curves whose tags match one of the patterns.
struct ScalarChart {
  std::string title;
  std::vector<std::string> tags;  // regular expressions
};

/// Returns the charts that are useful for any run: loss, throughput, memory of all ranks, waiting.
std::vector<ScalarChart> standard_charts();

/// One TensorBoard event file, written without protobuf or TensorFlow.
///
/// Records are buffered and written about every ten seconds. No call throws in the middle of the
/// work: the first failure is kept for check().
/// Source: tensorflow/core/lib/io/record_writer.cc (framing), tensorflow/core/util/event.proto.
class TensorBoardFile : public ScalarSink {
public:
  using Hparam = std::variant<double, std::string, bool>;

  /// Creates events.out.tfevents.<seconds>.<host>.<pid>.<n> in `folder`.
  /// Errors: Failure E601, E602.
  TensorBoardFile(
      const fs::path& folder, const std::string& host,
      std::function<std::chrono::system_clock::time_point()> utc = [] {
        return std::chrono::system_clock::now();
      });
  TensorBoardFile(const TensorBoardFile&) = delete;
  TensorBoardFile& operator=(const TensorBoardFile&) = delete;
  ~TensorBoardFile() override;

  void scalar(std::string_view tag, std::int64_t step, double value) override;

  /// Adds a text, shown as Markdown. Indent it by four spaces to keep its columns.
  void text(std::string_view tag, std::string_view markdown, std::int64_t step = 0);

  /// Tells readers to drop the points of earlier files from `step` on.
  void resumed_at(std::int64_t step) override;

  void layout(const std::string& title, const std::vector<ScalarChart>& charts);

  /// Adds the run as a row of the HParams page; its metrics are the scalars of this folder.
  void begin_session(const std::string& group, const std::map<std::string, Hparam>& hparams);
  void end_session(bool success);

  void flush();

  /// Rethrows the first failure. Call it on all ranks at the same point, inside run_together().
  void check() const;

  const fs::path& path() const { return file_.path(); }

private:
  double now_s() const;
  void record(const std::string& event) noexcept;

  std::function<std::chrono::system_clock::time_point()> utc_;
  DurableFile file_;
  std::string buffer_;
  double flushed_s_ = 0.0;
  std::exception_ptr failure_;
};

}  // namespace mgpu::report
