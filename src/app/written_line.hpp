#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/config/config_problem.hpp>

namespace mgpu::app {

/// Returns "gpus-per-model" for "--gpus_per_model=2"; "" when the argument is no long option.
std::string long_name(std::string_view argument);

/// A command line in its typed form, to find the place of an option or word in it. take_option()
/// and take_word() search after the argument that was taken last.
class WrittenLine {
public:
  WrittenLine(int argc, const char* const* argv);

  std::size_t size() const { return arguments_.size(); }

  /// Returns an argument with "-" for "_" in an option's name; written() returns it as typed.
  const std::string& operator[](std::size_t index) const { return arguments_[index]; }
  const std::string& written(std::size_t index) const { return written_[index]; }

  /// Returns the index of the first argument that equals `argument`; size() if there is no such
  /// argument.
  std::size_t find(const std::string& argument) const;

  /// Take the next such option with its value, or the next such word, which must exist. They return
  /// its index.
  std::size_t take_option(const OptionRow& row, const std::string& value);
  std::size_t take_word(const std::string& text);

  /// Formats an option in its typed form, "--gpus 1,3" or "--resume", to be shown with a caret.
  std::string option_at(std::size_t index, const std::string& value) const;

  /// Formats "command line, argument 2".
  static std::string origin(std::size_t index);
  Place place(std::size_t index) const;

private:
  std::vector<std::string> written_;
  std::vector<std::string> arguments_;
  std::size_t next_ = 1;  // first argument that was not taken yet
};

}  // namespace mgpu::app
