// Answers many command lines in one process, because each start of mgpu_spmd takes 0.4 s of a CPU
// to load libtorch. Each line of stdin is a JSON array of arguments. Each line of stdout is a JSON
// object with the exit code, what the program would print to stdout, and its error without colors
// and without the last line. The code is null if this program does not answer the command line.
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/error.hpp>

namespace {

using namespace mgpu;  // NOLINT(google-build-using-namespace): a program's own entry
using Json = nlohmann::json;

Json answer(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"mgpu_spmd"};
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  std::ostringstream out;
  try {
    const app::Options options =
        app::parse_command_line(static_cast<int>(argv.size()), argv.data(), app::program_keys());
    // These two read result files, which may be damaged, in another process of the program.
    const bool reads_results =
        options.action == app::Action::export_rows || options.action == app::Action::compare;
    const auto code = reads_results ? std::nullopt : app::answer_without_mpi(options, out);
    return {
        {"code", code ? Json(static_cast<int>(*code)) : Json()}, {"out", out.str()}, {"error", ""}};
  } catch (const std::exception& error) {
    const ErrorReport report = report_of(error);
    return {{"code", static_cast<int>(report.exit)}, {"out", out.str()}, {"error", render(report)}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line).get<std::vector<std::string>>())
                     .dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
}
