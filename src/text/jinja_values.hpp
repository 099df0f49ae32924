#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Throws std::runtime_error. The message says that `what` is not supported in chat templates.
[[noreturn]] void not_supported(const std::string& what);

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

inline bool is_text(const jinja::value& v) {
  return jinja::is_val<jinja::value_string>(v);
}

/// Refuses a text that is not pure ASCII, with not_supported(). `what` names the operation for the
/// message. Does nothing for values other than texts.
void need_ascii(const jinja::value& v, const std::string& what);

/// Returns a text without white space at the start (`left`), at the end (`right`), or at both ends,
/// like str.strip() of Python. Returns values other than texts unchanged.
jinja::value strip(const jinja::value& v, bool left, bool right);

/// Returns a text that has one byte for each character of the text `v`. The interpreter counts
/// bytes where Python counts characters, so the filters `length` and `count` get this text instead.
jinja::value as_many_bytes(const jinja::value& v);

/// Returns a node whose value is `v`. The second function returns a node for each value.
jinja::statement_ptr computed(jinja::value v);
jinja::statements computed(const std::vector<jinja::value>& values);

/// Executes the arguments of a call and returns their values. A named argument gives a
/// jinja::value_kwarg.
std::vector<jinja::value> evaluate(const jinja::statements& arguments, jinja::context& ctx);

}  // namespace mgpu::text
