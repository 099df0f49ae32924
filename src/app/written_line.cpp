#include "written_line.hpp"

#include <algorithm>

#include <mgpu/base/utf8.hpp>

namespace mgpu::app {

std::string long_name(std::string_view argument) {
  if (!argument.starts_with("--") || argument.size() == 2) return "";
  std::string name(argument.substr(2, argument.find('=') - 2));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

WrittenLine::WrittenLine(int argc, const char* const* argv) : written_(argv, argv + argc) {
  for (const std::string& argument : written_) {
    const std::string name = long_name(argument);
    const std::size_t equals = argument.find('=');
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals);
    arguments_.push_back(name.empty() ? argument : "--" + name + value);
  }
}

std::size_t WrittenLine::find(const std::string& argument) const {
  const auto found = std::find(arguments_.begin(), arguments_.end(), argument);
  return static_cast<std::size_t>(found - arguments_.begin());
}

std::size_t WrittenLine::take_option(const OptionRow& row, const std::string& value) {
  const std::string name = "--" + std::string(row.name);
  const auto has_letter = [&](const std::string& argument) {
    return row.letter != 0 && argument.size() > 1 && argument[0] == '-' && argument[1] != '-' &&
           argument.find(row.letter) != std::string::npos;
  };
  const auto is_it = [&](const std::string& argument) {
    return argument == name || argument.starts_with(name + "=") || has_letter(argument);
  };
  // Several one-letter options may share an argument (-qv). So if the argument that was taken last
  // has this letter, the search starts at that argument.
  const std::size_t from = next_ > 1 && has_letter(arguments_[next_ - 1]) ? next_ - 1 : next_;
  const auto found =
      std::find_if(arguments_.begin() + static_cast<std::ptrdiff_t>(from), arguments_.end(), is_it);
  const auto index = static_cast<std::size_t>(found - arguments_.begin());
  const bool value_follows = row.kind == OptionKind::value && arguments_[index] == name &&
                             index + 1 < arguments_.size() && arguments_[index + 1] == value;
  next_ = index + (value_follows ? 2 : 1);
  return index;
}

std::size_t WrittenLine::take_word(const std::string& text) {
  const auto found =
      std::find(arguments_.begin() + static_cast<std::ptrdiff_t>(next_), arguments_.end(), text);
  const auto index = static_cast<std::size_t>(found - arguments_.begin());
  next_ = index + 1;
  return index;
}

std::string WrittenLine::option_at(std::size_t index, const std::string& value) const {
  const bool is_apart = written_[index].find('=') == std::string::npos &&
                        index + 1 < written_.size() && written_[index + 1] == value;
  return is_apart ? written_[index] + " " + value : written_[index];
}

std::string WrittenLine::origin(std::size_t index) {
  return "command line, argument " + std::to_string(index);
}

Place WrittenLine::place(std::size_t index) const {
  const std::string shown = printable(written_[index]);
  return place_in_line(origin(index), 0, shown, 1,
                       std::max(1, static_cast<int>(utf8_length(shown))));
}

}  // namespace mgpu::app
