#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/rows/row_problems.hpp>

namespace mgpu::rows {

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const formats::JsonError& error) {
    return error.why();
  } catch (const Failure& failure) {
    const ErrorReport& report = failure.report();
    if (report.code != "E543" && report.code != "E545") throw;
    // E545 gives the template's reason in its first line, after two blanks.
    return report.sentence + (report.code == "E545" ? ": " + report.lines.at(0).substr(2) : "");
  }
}

void refuse_row(const fs::path& file, const input::Row& row, const std::string& why,
                const std::string& help) {
  formats::LineProblems problems(file);
  problems.add(row.line, why);
  problems.throw_if_any(help);
  throw Error("a row has no problem");
}

}  // namespace mgpu::rows
