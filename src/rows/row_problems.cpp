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
    // In E545, the first line is the chat template's reason, after two spaces.
    const bool has_reason = report.code == "E545" && !report.lines.empty();
    return has_reason ? report.sentence + ": " + report.lines.front().substr(2) : report.sentence;
  }
}

void refuse_row(const fs::path& file, const input::Row& row, const std::string& why,
                const std::string& help) {
  formats::LineProblems problems(file);
  problems.add(row.line, why);
  problems.throw_if_any(help);
  throw Error("a row has no problem");
}

formats::LineProblems gather_problems(const cluster::Group& group, const fs::path& file,
                                      const formats::LineProblems& mine) {
  formats::LineProblems all(file);
  for (const std::string& theirs : group.all_gather(std::string_view(mine.packed())))
    all.unpack(theirs);
  return all;
}

}  // namespace mgpu::rows
