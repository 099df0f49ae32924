#include "record_reader.hpp"

#include <algorithm>
#include <utility>

namespace mgpu::input {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

RecordReader::RecordReader(const DataFile& file, std::unique_ptr<RecordEnds> ends,
                           const RowMark& begin)
    : file_(&file), ends_(std::move(ends)), position_(begin) {}

bool RecordReader::next(Record& record) {
  record.line = position_.line;
  record.text.clear();
  record.is_too_long = false;
  const std::int64_t begin = position_.offset;
  while (has_bytes()) {
    const std::string_view rest = std::string_view(block_).substr(used_);
    const std::size_t end = ends_->find_end(rest);
    take(record, std::min(end, rest.size()));
    if (end != std::string_view::npos) break;
  }
  return position_.offset > begin;
}

bool RecordReader::has_bytes() {
  if (used_ < block_.size()) return true;
  block_.resize(kReadBytes);
  block_.resize(file_->read(static_cast<std::uint64_t>(position_.offset), block_));
  used_ = 0;
  return !block_.empty();
}

void RecordReader::take(Record& record, std::size_t bytes) {
  const auto begin = block_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
  position_.line += std::count(begin, end, '\n');
  position_.offset += static_cast<std::int64_t>(bytes);
  used_ += bytes;
  record.is_too_long = record.is_too_long || record.text.size() + bytes > Record::kMaxBytes;
  if (record.is_too_long) {
    record.text = {};
  } else {
    record.text.append(begin, end);
  }
}

}  // namespace mgpu::input
