#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/input/row_file.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::input {

/// A data file for a test, and the options to read it.
class MadeFile {
public:
  MadeFile(const std::string& name, std::string_view text) : path_(folder_.path() / name) {
    write(text);
    options.path = path_;
  }

  void write(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }
  const fs::path& path() const { return path_; }

  RowOptions options;

private:
  testing_support::TemporaryFolder folder_;
  fs::path path_;
};

inline std::vector<Row> read_all(const RowOptions& options) {
  const RowFile file = open_rows(options);
  return file.read(0, file.rows());
}

/// Returns the report of the failure that `options` cause; "" if they are valid.
inline std::string refusal(const RowOptions& options) {
  try {
    open_rows(options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::data);
    return render(failure.report());
  }
  return "";
}

/// Returns the text of a column; "(none)" if it has no text.
inline std::string text_in(const Row& row, const std::string& name) {
  const formats::JsonValue* value = row.object.find(name);
  return value == nullptr || value->text() == nullptr ? "(none)" : *value->text();
}

}  // namespace mgpu::input
