#include "record_ends.hpp"

namespace mgpu::input {

std::size_t LineEnds::find_end(std::string_view block) {
  const std::size_t at = block.find('\n');
  return at == std::string_view::npos ? at : at + 1;
}

std::size_t CsvEnds::find_end(std::string_view block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    place_ = csv_place(place_, block[i], rules_);
    if (place_ != CsvPlace::record_end) continue;
    place_ = CsvPlace::cell_begin;
    return i + 1;
  }
  return std::string_view::npos;
}

std::size_t ListEnds::find_end(std::string_view block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (is_first_byte_) is_blank_ = true;
    is_first_byte_ = is_end(block[i]);
    if (!is_first_byte_) continue;
    ++items_;
    return i + 1;
  }
  return std::string_view::npos;
}

bool ListEnds::is_end(char byte) {
  if (is_text_) {
    is_text_ = is_escaped_ || byte != '"';
    is_escaped_ = byte == '\\' && !is_escaped_;
    return false;
  }
  if (byte == ',' && depth_ == 1) return true;
  if (byte == '[' || byte == '{') ++depth_;
  if (byte == ']' || byte == '}') --depth_;
  if (depth_ == 0) return true;
  is_text_ = byte == '"';
  if (!is_json_blank(byte)) is_blank_ = false;
  return false;
}

}  // namespace mgpu::input
