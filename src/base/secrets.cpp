#include <algorithm>
#include <array>
#include <cctype>

#include <mgpu/base/secrets.hpp>

namespace mgpu {
namespace {

constexpr std::array<std::string_view, 11> kWords = {
    "pass", "pw",    "pwd",        "passphrase",  "jwt",          "auth",
    "cred", "creds", "credential", "credentials", "authorization"};
constexpr std::array<std::string_view, 3> kEnds = {"token", "apikey", "pass"};
constexpr std::array<std::string_view, 3> kParts = {"secret", "passwd", "password"};
constexpr std::array<std::string_view, 4> kTokenStarts = {"hf_", "ghp_", "sk-", "AKIA"};

/// Returns whether `word`, one word of a name, indicates that the name belongs to a secret.
/// `is_first`: whether `word` is the first word of the name. The word `key` indicates a secret only
/// if it is not the first word.
bool is_telling(std::string_view word, bool is_first) {
  const auto ends = [&](std::string_view end) { return word.ends_with(end) && word != "bypass"; };
  const auto has = [&](std::string_view part) { return word.find(part) != word.npos; };
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end() ||
         std::any_of(kEnds.begin(), kEnds.end(), ends) ||
         std::any_of(kParts.begin(), kParts.end(), has) || (word == "key" && !is_first);
}

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Returns the name in `line` before offset `end`. Skips blanks before `end`, and a closing quote
/// after the name, as in `"name" =`.
std::string_view name_before(std::string_view line, std::size_t end) {
  while (end > 0 && line[end - 1] == ' ')
    --end;
  if (end > 0 && (line[end - 1] == '"' || line[end - 1] == '\'')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_name_letter(line[begin - 1]))
    --begin;
  return line.substr(begin, end - begin);
}

/// Returns the offset at which the value begins. `at` is the offset after `=` or `:`. Skips blanks,
/// a quote, and "Bearer " or "Basic " between `at` and the value.
std::size_t value_begin(std::string_view line, std::size_t at) {
  at = std::min(line.find_first_not_of(' ', at), line.size());
  if (at < line.size() && (line[at] == '"' || line[at] == '\'')) ++at;
  for (const std::string_view scheme : {"Bearer ", "Basic "})
    if (line.substr(at).starts_with(scheme)) at += scheme.size();
  return at;
}

/// Returns whether the value may be a secret: it has at least six characters, and is not a number.
bool may_be_secret(std::string_view value) {
  return value.size() >= 6 && value.find_first_not_of("0123456789.") != std::string_view::npos;
}

std::string without_named(std::string_view line) {
  std::string clean;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = line.find_first_of("=:", at)) != std::string_view::npos; ++at) {
    if (at < done || !is_secret_name(name_before(line, at))) continue;
    const std::size_t begin = value_begin(line, at + 1);
    const std::size_t end = std::min(line.find_first_of(" \t\"',", begin), line.size());
    if (!may_be_secret(line.substr(begin, end - begin))) continue;
    clean.append(line.substr(done, begin - done)).append(kHidden);
    done = end;
  }
  return clean.append(line.substr(done));
}

/// Returns the line with access tokens of web services masked. It recognizes a token by its prefix,
/// such as hf_, and keeps the prefix.
std::string without_tokens(std::string_view line) {
  std::string clean;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at;
    while (end < line.size() && is_name_letter(line[end]))
      ++end;
    const std::string_view word = line.substr(at, end - at);
    const auto* start = std::find_if(kTokenStarts.begin(), kTokenStarts.end(),
                                     [&](std::string_view s) { return word.starts_with(s); });
    const bool is_token = start != kTokenStarts.end() && word.size() >= start->size() + 12;
    clean.append(is_token ? *start : word).append(is_token ? kHidden : "");
    if (end < line.size()) clean += line[end++];
    at = end;
  }
  return clean;
}

/// Returns the line with the user and password of URLs masked: scheme://user:password@host.
std::string without_users(std::string_view line) {
  constexpr std::string_view kMark = "://";
  std::string clean;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = line.find(kMark, at)) != std::string_view::npos;) {
    at += kMark.size();
    const std::size_t end = std::min(line.find_first_of("/ \t\"'", at), line.size());
    const std::size_t user_end = line.substr(0, end).rfind('@');
    if (user_end == std::string_view::npos || user_end < at) continue;
    clean.append(line.substr(done, at - done)).append(kHidden);
    done = user_end;
  }
  return clean.append(line.substr(done));
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string word;
  bool is_first = true;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const auto letter = i < name.size() ? static_cast<unsigned char>(name[i]) : '\0';
    if (std::isalnum(letter) != 0) {
      word += static_cast<char>(std::tolower(letter));
    } else if (!word.empty()) {
      if (is_telling(word, is_first)) return true;
      word.clear();
      is_first = false;
    }
  }
  return false;
}

std::string shown_value(std::string_view name, std::string_view value) {
  return std::string(is_secret_name(name) ? kHidden : value);
}

std::string redact(std::string_view line) {
  return without_tokens(without_named(without_users(line)));
}

}  // namespace mgpu
