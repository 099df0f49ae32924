#include <algorithm>
#include <array>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/check_lines.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::size_t kArea = 11;
constexpr std::size_t kVerdict = 60;  // column of the verdict, such as PASS

struct VerdictWords {
  const char* mark;     // shown by check_line()
  const char* name;     // written by checks_json()
  const char* counted;  // shown by check_total() if one check has this verdict
  const char* several;
  const char* paint;
};
constexpr std::array kWords = {
    VerdictWords{"PASS", "pass", "passed", "passed", "\x1b[32m"},
    VerdictWords{"WARN", "warn", "warning", "warnings", "\x1b[33m"},
    VerdictWords{"FAIL", "fail", "failed", "failed", "\x1b[31m"},
    VerdictWords{"SKIP", "skip", "skipped", "skipped", "\x1b[36m"},
};

const VerdictWords& words_of(Verdict verdict) {
  return kWords[static_cast<std::size_t>(verdict)];
}

}  // namespace

std::string check_line(const Check& check, bool color) {
  std::string line = pad_right(escape_log(check.area), kArea) + escape_log(check.what) + ' ';
  const std::size_t width = width_of(line);
  if (width + 1 < kVerdict) line += std::string(kVerdict - 1 - width, '.') + ' ';
  const VerdictWords& words = words_of(check.verdict);
  line += color ? words.paint + std::string(words.mark) + "\x1b[0m" : words.mark;
  return check.detail.empty() ? line : line + "   " + escape_log(check.detail);
}

std::string check_total(const std::vector<Check>& checks, double seconds) {
  std::string text;
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::warn, Verdict::skip}) {
    const auto count = std::count_if(checks.begin(), checks.end(),
                                     [&](const Check& c) { return c.verdict == verdict; });
    if (count == 0 && verdict != Verdict::pass) continue;
    const VerdictWords& words = words_of(verdict);
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + ' ' + (count == 1 ? words.counted : words.several);
  }
  return text + text_of(" in %.1f s", seconds);
}

std::string checks_json(const std::vector<Check>& checks) {
  using formats::JsonValue;
  JsonValue::List json;
  for (const Check& check : checks) {
    json.push_back(JsonValue::Members{{"area", check.area},
                                      {"what", check.what},
                                      {"verdict", words_of(check.verdict).name},
                                      {"detail", check.detail}});
  }
  return formats::to_json(std::move(json), formats::BadUtf8::replace);
}

}  // namespace mgpu::report
