// Answers many command lines in one process, because each start of mgpu_spmd takes 0.4 s of a CPU
// to load libtorch. Each line of stdin is a JSON array of arguments. Each line of stdout is a JSON
// object: the exit code and what the program would print to stdout and stderr. The code is null if
// the command line needs MPI, which is not answered.
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>

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
    const auto code = app::answer_without_mpi(options, out);
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
    std::cout << answer(Json::parse(line).get<std::vector<std::string>>()).dump() << std::endl;
}
