#include <algorithm>

#include <mgpu/report/error_colors.hpp>

namespace mgpu::report {
namespace {

constexpr const char* kRed = "\x1b[1;31m";
constexpr const char* kBlue = "\x1b[34m";
constexpr const char* kCyan = "\x1b[36m";
constexpr const char* kPlain = "\x1b[0m";

std::string colored_part(std::string_view line, std::size_t begin, std::size_t end,
                         const char* color) {
  return std::string(line.substr(0, begin)) + color + std::string(line.substr(begin, end - begin)) +
         kPlain + std::string(line.substr(end));
}

std::string color_line(std::string_view line) {
  if (line.starts_with("error[") && line.find("]:") != line.npos)
    return colored_part(line, 0, line.find("]:") + 1, kRed);
  const std::size_t text = std::min(line.find_first_not_of(" |"), line.size());
  const std::string_view rest = line.substr(text);
  if (rest.starts_with('^')) return colored_part(line, text, line.size(), kRed);
  if (rest.starts_with("--> ")) return colored_part(line, text, text + 3, kBlue);
  if (rest.starts_with("= help:")) return colored_part(line, text + 2, text + 6, kCyan);
  return std::string(line);
}

}  // namespace

std::string color_error(std::string_view rendered) {
  std::string text;
  while (true) {
    const std::size_t end = rendered.find('\n');
    text += color_line(rendered.substr(0, end));
    if (end == rendered.npos) return text;
    text += '\n';
    rendered.remove_prefix(end + 1);
  }
}

}  // namespace mgpu::report
