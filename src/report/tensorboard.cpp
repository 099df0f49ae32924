#include <atomic>
#include <utility>

#include <unistd.h>

#include <mgpu/report/tensorboard.hpp>

#include "protobuf.hpp"

namespace mgpu::report {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr double kFlush_s = 10.0;

// Numbers of the fields of tensorflow.Event.
constexpr std::uint32_t kWallTime = 1;
constexpr std::uint32_t kStep = 2;
constexpr std::uint32_t kFileVersion = 3;
constexpr std::uint32_t kSummary = 5;
constexpr std::uint32_t kSessionLog = 7;

// Values of tensorflow.DataType, tensorflow.DataClass and tensorflow.SessionLog.SessionStatus.
constexpr std::uint64_t kFloat = 1;
constexpr std::uint64_t kString = 7;
constexpr std::uint64_t kDataClassTensor = 2;
constexpr std::uint64_t kSessionStart = 1;

// Values of tensorboard.hparams.Status.
constexpr std::uint64_t kSuccess = 1;
constexpr std::uint64_t kFailure = 2;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string raw;
  for (int i = 0; i < bytes; ++i)
    raw += static_cast<char>(value >> (8 * i) & 0xFF);
  return raw;
}

/// Returns the CRC-32C of `bytes` in the form that event files store: rotated, with an offset
/// added. The reason is that a CRC over data that contain unchanged CRCs detects errors poorly.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

/// Formats a record: length, CRC of the length, data, CRC of the data.
std::string framed(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(masked_crc(length), 4) + data + little_endian(masked_crc(data), 4);
}

fs::path file_name(const std::string& host, double now_s) {
  static std::atomic<int> count{0};
  return "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now_s)) + '.' + host +
         '.' + std::to_string(getpid()) + '.' + std::to_string(count++);
}

ProtoMessage event_at(double now_s, std::int64_t step) {
  ProtoMessage event;
  event.number(kWallTime, now_s);
  if (step != 0) event.integer(kStep, static_cast<std::uint64_t>(step));
  return event;
}

/// Returns an event whose summary holds one value.
std::string summary_event(double now_s, std::int64_t step, const ProtoMessage& value) {
  ProtoMessage summary;
  summary.message(1, value);
  return event_at(now_s, step).message(kSummary, summary).bytes();
}

ProtoMessage metadata(std::string_view plugin, const ProtoMessage& content = {}) {
  ProtoMessage data;
  data.text(1, plugin).message(2, content);
  ProtoMessage meta;
  meta.message(1, data).integer(4, kDataClassTensor);
  return meta;
}

/// Returns a TensorProto with one string.
ProtoMessage string_tensor(std::string_view text) {
  ProtoMessage tensor;
  tensor.integer(1, kString).message(2, {}).text(8, text);
  return tensor;
}

/// Returns a TensorProto of shape [0], for a summary whose content is in the metadata.
ProtoMessage empty_tensor() {
  ProtoMessage dimension;
  dimension.integer(1, 0);
  ProtoMessage shape;
  shape.message(2, dimension);
  ProtoMessage tensor;
  tensor.integer(1, kFloat).message(2, shape);
  return tensor;
}

ProtoMessage tensor_value(std::string_view tag, const ProtoMessage& tensor,
                          const ProtoMessage& meta) {
  ProtoMessage value;
  value.text(1, tag).message(8, tensor).message(9, meta);
  return value;
}

/// Returns `hparam` as a message google.protobuf.Value.
ProtoMessage hparam_value(const TensorBoardFile::Hparam& hparam) {
  ProtoMessage value;
  if (const auto* number = std::get_if<double>(&hparam)) {
    value.number(2, *number);
  } else if (const auto* flag = std::get_if<bool>(&hparam)) {
    value.integer(4, *flag ? 1 : 0);
  } else {
    value.text(3, std::get<std::string>(hparam));
  }
  return value;
}

}  // namespace

std::vector<ScalarChart> standard_charts() {
  return {{"loss", {"train/loss"}},
          {"throughput", {"perf/samples_per_second"}},
          {"memory of all ranks (GiB)", {"gpu/memory_gib/.*", "host/memory_gib/.*"}},
          {"waiting", {"perf/comm_exposed"}}};
}

TensorBoardFile::TensorBoardFile(const fs::path& folder, const std::string& host,
                                 std::function<std::chrono::system_clock::time_point()> utc)
    : utc_(std::move(utc)),
      file_(folder / file_name(host, now_s()), "tensorboard", DurableFile::Mode::create_new),
      flushed_s_(now_s()) {
  ProtoMessage event;
  event.number(kWallTime, now_s()).text(kFileVersion, "brain.Event:2");
  file_.write(framed(event.bytes()));
}

TensorBoardFile::~TensorBoardFile() {
  flush();
}

double TensorBoardFile::now_s() const {
  return std::chrono::duration<double>(utc_().time_since_epoch()).count();
}

void TensorBoardFile::record(const std::string& event) noexcept {
  if (failure_) return;
  try {
    buffer_ += framed(event);
    if (buffer_.size() >= kBufferBytes || now_s() - flushed_s_ >= kFlush_s) flush();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void TensorBoardFile::flush() {
  if (failure_) return;
  try {
    file_.write(std::exchange(buffer_, {}));
    flushed_s_ = now_s();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void TensorBoardFile::check() const {
  if (failure_) std::rethrow_exception(failure_);
}

void TensorBoardFile::scalar(std::string_view tag, std::int64_t step, double value) {
  ProtoMessage entry;
  entry.text(1, tag).number(2, static_cast<float>(value));
  record(summary_event(now_s(), step, entry));
}

void TensorBoardFile::text(std::string_view tag, std::string_view markdown, std::int64_t step) {
  record(
      summary_event(now_s(), step, tensor_value(tag, string_tensor(markdown), metadata("text"))));
}

void TensorBoardFile::resumed_at(std::int64_t step) {
  ProtoMessage log;
  log.integer(1, kSessionStart);
  record(event_at(now_s(), step).message(kSessionLog, log).bytes());
}

void TensorBoardFile::layout(const std::string& title, const std::vector<ScalarChart>& charts) {
  ProtoMessage category;
  category.text(1, title);
  for (const ScalarChart& chart : charts) {
    ProtoMessage lines;
    for (const std::string& tag : chart.tags)
      lines.text(1, tag);
    ProtoMessage entry;
    entry.text(1, chart.title).message(2, lines);
    category.message(2, entry);
  }
  ProtoMessage layout;
  layout.message(2, category);
  record(summary_event(now_s(), 0,
                       tensor_value("custom_scalars__config__", string_tensor(layout.bytes()),
                                    metadata("custom_scalars"))));
}

void TensorBoardFile::begin_session(const std::string& group,
                                    const std::map<std::string, Hparam>& hparams) {
  ProtoMessage info;
  for (const auto& [name, hparam] : hparams) {
    ProtoMessage entry;
    entry.text(1, name).message(2, hparam_value(hparam));
    info.message(1, entry);
  }
  info.text(4, group).number(5, now_s());
  ProtoMessage data;
  data.message(3, info);
  record(summary_event(
      now_s(), 0,
      tensor_value("_hparams_/session_start_info", empty_tensor(), metadata("hparams", data))));
}

void TensorBoardFile::end_session(bool success) {
  ProtoMessage info;
  info.integer(1, success ? kSuccess : kFailure).number(2, now_s());
  ProtoMessage data;
  data.message(4, info);
  record(summary_event(
      now_s(), 0,
      tensor_value("_hparams_/session_end_info", empty_tensor(), metadata("hparams", data))));
}

}  // namespace mgpu::report
