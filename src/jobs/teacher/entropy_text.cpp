#include "entropy_text.hpp"

#include <algorithm>
#include <cmath>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr int kShades = 8;
constexpr const char* kNoBreak = "\u00A0";

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// Returns a share as a percentage, with enough digits to distinguish it from 0.
std::string share_text(double share) {
  const double hundredths = 100.0 * share;
  return report::text_of(hundredths >= 10.0  ? "%.0f %%"
                         : hundredths >= 0.1 ? "%.1f %%"
                                             : "%.1e %%",
                         hundredths);
}

/// Returns a text about a token: its probability, the entropy of the teacher's prediction, and the
/// most probable tokens of that prediction.
std::string view_of(const ShownToken& token, int number) {
  std::string text = report::text_of("Token %d ", number) + quoted_token(token.text);
  if (token.entropy < 0.0) return text + ": nothing came before it.";
  text += token.place > 0 ? ": probability " + share_text(token.probability) +
                                report::text_of(", number %d of the list", token.place)
                          : ": not in the list";
  text += report::text_of(". Entropy %.2f nats, as unsure as between %.1f equal ones.\n",
                          token.entropy, std::exp(token.entropy));
  for (const Guess& guess : token.best) {
    std::string words = quoted_token(guess.text) + ' ' + share_text(guess.probability);
    replace_all(words, " ", kNoBreak);
    text += words + "   ";
  }
  std::string rest = "all others " + share_text(token.rest);
  replace_all(rest, " ", kNoBreak);
  return text + rest;
}

int shade_of(const ShownToken& token, double largest) {
  if (token.entropy <= 0.0 || largest <= 0.0) return 0;
  return std::min(kShades, static_cast<int>(std::lround(kShades * token.entropy / largest)));
}

std::string token_html(const ShownToken& token, int number, double largest) {
  std::string shown = token.text.empty() ? "\u25E6" : token.text;
  replace_all(shown, "\n", "\u21B5\n");
  const std::string css =
      report::text_of("t e%d", shade_of(token, largest)) + (token.is_learned ? "" : " prompt");
  return "<span class=\"" + css + "\" tabindex=\"-1\" data-view=\"" +
         report::escape_html(view_of(token, number)) + "\">" + report::escape_html(shown) +
         "</span>";
}

std::string text_html(const ShownText& text, double largest) {
  const auto shown = static_cast<std::int64_t>(text.shown.size());
  std::string name = "Row " + report::grouped(text.row);
  if (shown < text.tokens)
    name += ", tokens " + report::grouped(text.first) + " to " +
            report::grouped(text.first + shown - 1) + " of " + report::grouped(text.tokens);
  std::string html =
      "<p class=\"row\">" + report::escape_html(name) + "</p>\n<div class=\"tokens\">";
  if (text.first > 0) html += "\u2026";
  auto number = static_cast<int>(text.first);
  for (const ShownToken& token : text.shown)
    html += token_html(token, number++, largest);
  if (text.first + shown < text.tokens) html += "\u2026";
  return html + "</div>\n";
}

std::string scale_html(double largest) {
  std::string html = "<p class=\"scale\">sure";
  for (int shade = 0; shade <= kShades; ++shade)
    html += report::text_of("<span class=\"e%d\">%.1f</span>", shade, largest * shade / kShades);
  return html + "nats</p>\n";
}

}  // namespace

std::string quoted_token(const std::string& text) {
  if (text.empty()) return "(its text comes with the next token)";
  std::string shown = text;
  replace_all(shown, " ", "\u2423");
  replace_all(shown, "\n", "\u21B5");
  replace_all(shown, "\t", "\u21E5");
  return "\u201C" + shown + "\u201D";
}

std::string entropy_html(const std::vector<ShownText>& texts) {
  if (texts.empty()) return "";
  double largest = 0.0;
  for (const ShownText& text : texts)
    for (const ShownToken& token : text.shown)
      largest = std::max(largest, token.entropy);
  std::string html = scale_html(largest);
  for (const ShownText& text : texts)
    html += text_html(text, largest);
  return html;
}

}  // namespace mgpu::jobs
