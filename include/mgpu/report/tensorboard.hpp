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

/// A chart of TensorBoard's Custom Scalars page. It shows the scalars whose tag matches one of the
/// expressions in `tags`.
struct ScalarChart {
  std::string title;
  std::vector<std::string> tags;  // regular expressions
};

/// Returns the charts that are useful for any run: loss, throughput, memory of all ranks, waiting.
std::vector<ScalarChart> standard_charts();

/// One TensorBoard event file, written without protobuf or TensorFlow.
///
/// Records are buffered, and written when the buffer has 64 KiB or the last write was ten seconds
/// ago. After construction, a failed write is thrown only by check(), so that no rank fails alone
/// in the middle of its work.
/// Source: tensorflow/core/lib/io/record_writer.cc (framing), tensorflow/core/util/event.proto.
class TensorBoardFile : public ScalarSink {
public:
  using Hparam = std::variant<double, std::string, bool>;

  /// Creates events.out.tfevents.<seconds>.<host>.<pid>.<n> in `folder`.
  /// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
  TensorBoardFile(
      const fs::path& folder, const std::string& host,
      std::function<std::chrono::system_clock::time_point()> utc = [] {
        return std::chrono::system_clock::now();
      });
  TensorBoardFile(const TensorBoardFile&) = delete;
  TensorBoardFile& operator=(const TensorBoardFile&) = delete;
  ~TensorBoardFile() override;

  void scalar(std::string_view tag, std::int64_t step, double value) override;

  /// Adds a text, shown as Markdown. Lines that are indented by four spaces appear in a fixed-width
  /// font.
  void text(std::string_view tag, std::string_view markdown, std::int64_t step = 0);

  /// Makes TensorBoard ignore the points of step `step` and of later steps in older files of the
  /// folder.
  void resumed_at(std::int64_t step) override;

  /// Sets the charts of the Custom Scalars page, under the heading `title`.
  void layout(const std::string& title, const std::vector<ScalarChart>& charts);

  /// Adds the run as a row of the HParams page. The metrics in this row are the scalars in the
  /// folder of this file.
  void begin_session(const std::string& group, const std::map<std::string, Hparam>& hparams);
  void end_session(bool success);

  void flush();

  /// Throws the failure of the first write that failed. Call it on all ranks at the same point,
  /// inside run_together(), so that all ranks throw.
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
