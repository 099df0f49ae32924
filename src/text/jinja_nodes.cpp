#include "jinja_nodes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <mgpu/base/utf8.hpp>

#include "code_points.hpp"

namespace mgpu::text {
namespace {

using jinja::context;
using jinja::expression;
using jinja::is_val;
using jinja::mk_val;
using jinja::statement_ptr;
using jinja::value;

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

[[noreturn]] void not_supported(const std::string& what) {
  throw std::runtime_error(what + " is not supported in chat templates");
}

bool is_text(const value& v) {
  return is_val<jinja::value_string>(v);
}

void need_ascii(const value& v, const std::string& what) {
  if (!is_text(v)) return;
  const std::string text = v->as_string().str();
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    not_supported(what + " of a text outside ASCII");
}

/// Returns whether Python's str.strip() removes the character.
bool is_space(char32_t character) {
  return is_whitespace(character) || (character >= 0x1C && character <= 0x1F);
}

value strip(const value& v, bool left, bool right) {
  if (!is_text(v)) return v;
  const std::string text = v->as_string().str();
  std::size_t begin = 0, end = text.size();
  while (left && begin < end && is_space(character_at(text, begin)))
    begin += character_bytes(text[begin]);
  while (right && end > begin && is_space(character_at(text, previous_character(text, end))))
    end = previous_character(text, end);
  return mk_val<jinja::value_string>(text.substr(begin, end - begin));
}

/// Returns a text with one byte per character, for filters that count characters.
value as_many_bytes(const value& v) {
  return mk_val<jinja::value_string>(std::string(utf8_length(v->as_string().str()), 'x'));
}

/// An expression that processes the value of another one.
struct Guarded : expression {
  explicit Guarded(statement_ptr inner) : inner_(std::move(inner)) { pos = inner_->pos; }
  std::string type() const override { return inner_->type(); }

protected:
  value inner(context& ctx) const { return inner_->execute(ctx); }

private:
  statement_ptr inner_;
};

/// A statement that is refused only when it is executed.
struct Refused : Guarded {
  using Guarded::Guarded;
  value execute_impl(context&) const override { not_supported("`" + type() + "`"); }
};

/// {{ ... }}: prints a value like Python.
struct Printed : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    if (v->is_none()) return mk_val<jinja::value_string>(std::string("None"));
    const bool printable = v->is_undefined() || is_text(v) || is_val<jinja::value_int>(v) ||
                           is_val<jinja::value_bool>(v);
    if (!printable) not_supported("printing a value of type " + v->type());
    return v;
  }
};

/// An operand that must be defined, because it has members or is part of a calculation.
struct Defined : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    if (v->is_undefined()) throw std::runtime_error("an undefined value has no members");
    return v;
  }
};

constexpr std::array<std::string_view, 11> kTextMethods = {
    "split", "strip", "lstrip", "rstrip",     "startswith", "endswith",
    "upper", "lower", "title",  "capitalize", "replace"};
constexpr std::array<std::string_view, 4> kCaseMethods = {"upper", "lower", "title", "capitalize"};
constexpr std::array<std::string_view, 4> kObjectMethods = {"get", "items", "keys", "values"};

/// The object of a method call, or of a member that is not a method.
struct Object : Defined {
  Object(statement_ptr inner, std::string member, bool is_called, bool has_arguments)
      : Defined(std::move(inner)),
        member_(std::move(member)),
        is_called_(is_called),
        has_arguments_(has_arguments) {}

  value execute_impl(context& ctx) const override {
    const value v = Defined::execute_impl(ctx);
    if (!is_called_) return check_member(v);
    if (is_text(v)) return text_of_method(v);
    if (is_val<jinja::value_object>(v) && contains(kObjectMethods, member_)) return v;
    // A macro or function in a namespace is not a built-in.
    if (is_val<jinja::value_object>(v) && !v->get_builtins().contains(member_)) return v;
    not_supported("method `" + member_ + "` of a value of type " + v->type());
  }

private:
  /// Refuses built-ins of the interpreter that are filters in Python, because they are no members
  /// there.
  value check_member(const value& v) const {
    const bool has_builtins = is_text(v) || is_val<jinja::value_array>(v);
    if (has_builtins && v->get_builtins().contains(member_))
      not_supported("`" + member_ + "` without a call");
    return v;
  }

  value text_of_method(const value& v) const {
    if (!contains(kTextMethods, member_)) not_supported("method `" + member_ + "` of a text");
    if (contains(kCaseMethods, member_)) need_ascii(v, "`" + member_ + "`");
    if (has_arguments_) return v;
    if (member_ == "split") need_ascii(v, "`split` at white space");
    return strip(v, member_ == "strip" || member_ == "lstrip",
                 member_ == "strip" || member_ == "rstrip");
  }

  std::string member_;
  bool is_called_, has_arguments_;
};

/// The object of x[...]: bytes equal characters only in ASCII, and only lists count from the end.
struct Indexed : Defined {
  Indexed(statement_ptr inner, bool is_slice) : Defined(std::move(inner)), is_slice_(is_slice) {}
  value execute_impl(context& ctx) const override {
    value v = Defined::execute_impl(ctx);
    if (is_text(v) && !is_slice_) not_supported("a character by its index");
    need_ascii(v, "a part");
    return v;
  }

private:
  bool is_slice_;
};

constexpr std::array<std::string_view, 23> kFilters = {
    "trim",   "upper",   "lower",  "title",  "capitalize", "length", "count",  "tojson",
    "string", "default", "d",      "join",   "items",      "list",   "map",    "selectattr",
    "first",  "last",    "reject", "select", "rejectattr", "safe",   "replace"};
constexpr std::array<std::string_view, 6> kCharacterFilters = {"trim",    "tojson", "string",
                                                               "default", "safe",   "replace"};

/// The input of a filter.
struct Filtered : Guarded {
  Filtered(statement_ptr inner, std::string filter, bool has_arguments)
      : Guarded(std::move(inner)), filter_(std::move(filter)), has_arguments_(has_arguments) {}

  value execute_impl(context& ctx) const override {
    const std::string what = "filter `" + filter_ + "`";
    if (!contains(kFilters, filter_)) not_supported(what);
    const value v = inner(ctx);
    if (is_text(v) && (filter_ == "length" || filter_ == "count")) return as_many_bytes(v);
    if (!contains(kCharacterFilters, filter_) && filter_ != "d") need_ascii(v, what);
    if (filter_ == "tojson" && has_arguments_) not_supported(what + " with arguments");
    if (filter_ == "trim" && has_arguments_) not_supported(what + " with arguments");
    const bool makes_text = filter_ == "trim" || filter_ == "string" || filter_ == "replace" ||
                            contains(kCaseMethods, filter_);
    if (makes_text && !is_text(v) && !is_val<jinja::value_int>(v))
      not_supported(what + " of a value of type " + v->type());
    return filter_ == "trim" ? strip(v, true, true) : v;
  }

private:
  std::string filter_;
  bool has_arguments_;
};

constexpr std::array<std::string_view, 18> kTests = {
    "defined",  "undefined", "none",   "string",  "mapping", "iterable",
    "sequence", "boolean",   "number", "integer", "true",    "false",
    "odd",      "even",      "eq",     "equalto", "ne",      "in"};

struct Tested : Guarded {
  Tested(statement_ptr inner, std::string test)
      : Guarded(std::move(inner)), test_(std::move(test)) {}
  value execute_impl(context& ctx) const override {
    if (!contains(kTests, test_)) not_supported("test `" + test_ + "`");
    value v = inner(ctx);
    if (v->is_undefined() && (test_ == "iterable" || test_ == "sequence"))
      not_supported("test `" + test_ + "` of an undefined value");
    return v;
  }

private:
  std::string test_;
};

/// + and ~, which the interpreter also applies to a text and a value of another type.
struct Joined : expression {
  Joined(statement_ptr whole, const jinja::binary_expression& operation)
      : whole_(std::move(whole)), operation_(operation) {
    pos = whole_->pos;
  }
  std::string type() const override { return whole_->type(); }

  value execute_impl(context& ctx) const override {
    const value left = operation_.left->execute(ctx);
    const value right = operation_.right->execute(ctx);
    if (operation_.op.value == "~") return text(text_of(left), text_of(right));
    if (is_text(left) && is_text(right)) return text(left->as_string(), right->as_string());
    if (left->is_undefined() || right->is_undefined())
      throw std::runtime_error("an undefined value is added");
    if (is_text(left) || is_text(right))
      throw std::runtime_error("values of type " + left->type() + " and " + right->type() +
                               " are added");
    return whole_->execute(ctx);
  }

private:
  static value text(jinja::string left, const jinja::string& right) {
    return mk_val<jinja::value_string>(left.append(right));
  }

  static jinja::string text_of(const value& v) {
    if (v->is_none()) return std::string("None");
    if (v->is_undefined()) return std::string();
    if (!is_text(v) && !is_val<jinja::value_int>(v) && !is_val<jinja::value_bool>(v))
      not_supported("`~` with a value of type " + v->type());
    return v->as_string();
  }

  statement_ptr whole_;
  const jinja::binary_expression& operation_;
};

}  // namespace

statement_ptr refused(statement_ptr node) {
  return std::make_unique<Refused>(std::move(node));
}

statement_ptr printed(statement_ptr node) {
  return std::make_unique<Printed>(std::move(node));
}

statement_ptr object_of(statement_ptr node, std::string member, bool is_called,
                        bool has_arguments) {
  return std::make_unique<Object>(std::move(node), std::move(member), is_called, has_arguments);
}

statement_ptr indexed(statement_ptr node, bool is_slice) {
  return std::make_unique<Indexed>(std::move(node), is_slice);
}

statement_ptr filtered(statement_ptr node, std::string filter, bool has_arguments) {
  return std::make_unique<Filtered>(std::move(node), std::move(filter), has_arguments);
}

statement_ptr tested(statement_ptr node, std::string test) {
  return std::make_unique<Tested>(std::move(node), std::move(test));
}

statement_ptr joined(statement_ptr node, const jinja::binary_expression& operation) {
  return std::make_unique<Joined>(std::move(node), operation);
}

}  // namespace mgpu::text
