#include "jinja_values.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <mgpu/base/utf8.hpp>

#include "code_points.hpp"
#include "jinja_budget.hpp"

namespace mgpu::text {
namespace {

using jinja::value;

/// Returns whether Python's str.strip() removes the character.
bool is_space(char32_t character) {
  return is_whitespace(character) || (character >= 0x1C && character <= 0x1F);
}

struct Computed : jinja::expression {
  explicit Computed(value v) : v_(std::move(v)) { pos = 0; }
  value execute_impl(jinja::context&) const override { return v_; }

private:
  value v_;
};

}  // namespace

void not_supported(const std::string& what) {
  throw std::runtime_error(what + " is not supported in chat templates");
}

void need_ascii(const value& v, const std::string& what) {
  if (!is_text(v)) return;
  const std::string text = v->as_string().str();
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    not_supported(what + " of a text outside ASCII");
}

value strip(const value& v, bool left, bool right) {
  if (!is_text(v)) return v;
  const std::string text = v->as_string().str();
  std::size_t begin = 0, end = text.size();
  while (left && begin < end && is_space(character_at(text, begin)))
    begin += character_bytes(text[begin]);
  while (right && end > begin && is_space(character_at(text, previous_character(text, end))))
    end = previous_character(text, end);
  return jinja::mk_val<jinja::value_string>(text.substr(begin, end - begin));
}

value as_many_bytes(const value& v) {
  return jinja::mk_val<jinja::value_string>(std::string(utf8_length(v->as_string().str()), 'x'));
}

jinja::statement_ptr computed(value v) {
  return std::make_unique<Computed>(std::move(v));
}

jinja::statements computed(const std::vector<value>& values) {
  jinja::statements nodes;
  for (const value& v : values)
    nodes.push_back(computed(v));
  return nodes;
}

std::vector<value> evaluate(const jinja::statements& arguments, jinja::context& ctx) {
  std::vector<value> values;
  for (const jinja::statement_ptr& argument : arguments) {
    values.push_back(argument->execute(ctx));
    RenderBudget::of_thread().take(values.back());
  }
  return values;
}

}  // namespace mgpu::text
