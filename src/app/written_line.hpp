#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/config/config_problem.hpp>

namespace mgpu::app {

/// Returns the name in a long option, such as "gpus-per-model" for "--gpus_per_model=2". Each _ of
/// the name becomes a dash. Returns "" when the argument is no long option.
std::string long_name(std::string_view argument);

/// A command line as the user typed it. With this class, error messages point at an option or word.
/// Each call of take_option() or take_word() searches after the argument that the previous call
/// found. Several one-letter options may share an argument (-qv). For these options, take_option()
/// returns the same index.
class WrittenLine {
public:
  WrittenLine(int argc, const char* const* argv);

  std::size_t size() const { return arguments_.size(); }

  /// The operator returns an argument, in which each _ of an option's name is replaced by -. The
  /// function written() returns the argument as typed.
  const std::string& operator[](std::size_t index) const { return arguments_[index]; }
  const std::string& written(std::size_t index) const { return written_[index]; }

  /// Returns the index of the first argument that equals `argument`, or size() if no argument does.
  std::size_t find(const std::string& argument) const;

  /// The function take_option() returns the index of the next occurrence of an option, whose parsed
  /// value is `value`. The function take_word() returns the index of the next argument equal to
  /// `text`. The option or argument must exist.
  std::size_t take_option(const OptionRow& row, const std::string& value);
  std::size_t take_word(const std::string& text);

  /// Returns the option at `index` and its value as typed, "--gpus 1,3" or "--resume". Error
  /// messages show this text with a caret.
  std::string option_at(std::size_t index, const std::string& value) const;

  /// Returns the description of an argument for messages: "command line, argument 2".
  static std::string origin(std::size_t index);
  Place place(std::size_t index) const;

private:
  std::vector<std::string> written_;
  std::vector<std::string> arguments_;
  std::size_t next_ = 1;  // first argument that was not taken yet
};

}  // namespace mgpu::app
