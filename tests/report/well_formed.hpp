#pragma once

#include <regex>
#include <string>
#include <vector>

namespace mgpu::report {

/// Returns why `xml` is not well-formed; "" if it is. It handles elements, attributes and text
/// only, which suffices for the program's charts.
inline std::string malformed(const std::string& xml) {
  static const std::string value = R"([^"<&]*(?:&[a-z0-9#]+;[^"<&]*)*)";
  static const std::string attribute = R"(\s+[a-zA-Z][-a-zA-Z0-9]*=")" + value + '"';
  static const std::regex tag("<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:" + attribute + ")*)(/?)>");
  static const std::regex text(R"((?:[^<>&]|&(?:amp|lt|gt|quot|#39);)*)");
  std::vector<std::string> open;
  auto at = xml.cbegin();
  for (std::sregex_iterator it(xml.begin(), xml.end(), tag), end; it != end; ++it) {
    const std::smatch& match = *it;
    if (!std::regex_match(at, match[0].first, text)) return std::string(at, match[0].second);
    at = match[0].second;
    const std::string name = match[2];
    if (match[1].length() == 0) {
      if (match[4].length() == 0) open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> does not close " + (open.empty() ? "anything" : open.back());
    } else {
      open.pop_back();
    }
  }
  if (!open.empty()) return "<" + open.back() + "> stays open";
  return std::regex_match(at, xml.cend(), text) ? "" : std::string(at, xml.cend());
}

inline std::vector<std::string> charts_in(const std::string& html) {
  std::vector<std::string> charts;
  for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1))
    charts.push_back(html.substr(at, html.find("</svg>", at) + 6 - at));
  return charts;
}

}  // namespace mgpu::report
