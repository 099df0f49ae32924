#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/mark.h>

#include <mgpu/config/config_problem.hpp>

namespace mgpu {

/// Converts marks of yaml-cpp, which count lines from 0 and columns in bytes, into places in a
/// file.
///
/// yaml-cpp reads a repaired copy of the lines. Places show the original line, unless its columns
/// may differ from those of the repaired line.
/// Memory: refers to the original and the repaired lines, which have to outlive this object.
class YamlSource {
public:
  YamlSource(const std::vector<std::string>& repaired, std::vector<std::string_view> as_written,
             std::string origin);

  /// Returns the text from the mark to the end of its line.
  std::string_view rest_of_line(const YAML::Mark& mark) const;

  /// Returns the unquoted scalar at the mark, without the part on later lines.
  std::string_view plain_text(const YAML::Mark& mark) const;

  /// Returns the place of `length` characters that begin at the mark.
  Place at(const YAML::Mark& mark, int length = 1) const;

  /// Returns the place of the scalar at the mark, whose text is `value`. The place includes the
  /// quotes of the scalar, but not the part on later lines.
  Place at_scalar(const YAML::Mark& mark, std::string_view value) const;

private:
  const std::vector<std::string>& lines_;
  std::vector<std::string_view> as_written_;
  std::string origin_;
};

}  // namespace mgpu
