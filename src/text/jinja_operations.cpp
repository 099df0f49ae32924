#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "jinja_budget.hpp"
#include "jinja_nodes.hpp"
#include "jinja_values.hpp"

// This file contains the nodes for operations of templates: filters, tests, binary operators and
// calls. Each node executes its operands, checks their values, and then lets the interpreter apply
// the operation to these values. Only `~` and `+` of texts are computed here.
namespace mgpu::text {
namespace {

using jinja::context;
using jinja::is_val;
using jinja::mk_val;
using jinja::statement_ptr;
using jinja::value;
using jinja::value_int;

std::string text_of(const value& v) {
  return v->as_string().str();
}

/// Estimates the size of the text of a printed value, in bytes. Takes no steps from the
/// RenderBudget, because callers have already taken a step for each item of the value.
std::size_t text_bytes(const value& v) {
  if (is_text(v)) return v->val_str.length();
  std::size_t bytes = 8;  // for a number or similar value, or for the brackets and commas
  if (is_val<jinja::value_array>(v)) {
    for (const value& item : v->as_array())
      bytes += text_bytes(item);
  } else if (is_val<jinja::value_object>(v)) {
    for (const auto& [key, item] : v->as_ordered_object())
      bytes += text_bytes(key) + text_bytes(item);
  }
  return bytes;
}

/// Checks the size of the result of v.replace(arguments), for a text `v`. Refuses named arguments.
void check_replace(const value& v, const std::vector<value>& arguments) {
  for (const value& argument : arguments)
    if (is_val<jinja::value_kwarg>(argument)) not_supported("`replace` with named arguments");
  if (arguments.size() < 2 || !is_text(arguments[0]) || !is_text(arguments[1])) return;
  const std::string whole = text_of(v);
  const std::size_t count = RenderBudget::of_thread().take_search(whole, text_of(arguments[0]));
  RenderBudget::check_text(whole.size() + count * arguments[1]->val_str.length());
}

/// Checks the size of the list that v.split(arguments) returns, for a text `v`.
void check_split(const value& v, const std::vector<value>& arguments) {
  const std::string whole = text_of(v);
  std::size_t parts = 1;
  if (!arguments.empty() && is_text(arguments[0])) {
    parts += RenderBudget::of_thread().take_search(whole, text_of(arguments[0]));
  } else {
    need_ascii(v, "`split` at white space");
    parts +=
        static_cast<std::size_t>(std::ranges::count_if(whole, [](char c) { return c <= ' '; }));
  }
  RenderBudget::check_list(parts);
  RenderBudget::of_thread().take_steps(parts);
}

/// Checks the size of the result of `v | join(arguments)`, for a list `v`.
void check_join(const value& v, const std::vector<value>& arguments) {
  if (!is_val<jinja::value_array>(v)) return;
  RenderBudget::of_thread().take_deep(v);
  std::size_t between = 0;
  for (const value& argument : arguments) {
    const auto* named = dynamic_cast<const jinja::value_kwarg_t*>(argument.get());
    const value& text = named == nullptr ? argument : named->val;
    RenderBudget::of_thread().take_deep(text);
    between += text_bytes(text);
  }
  RenderBudget::check_text(text_bytes(v) + v->as_array().size() * between);
}

/// Checks the size of the text to which `v` is converted for output or by tojson. The text includes
/// all values inside `v`.
void check_shown(const value& v) {
  RenderBudget::of_thread().take_deep(v);
  RenderBudget::check_text(text_bytes(v));
}

/// Checks the size of the list that range(arguments) returns. Refuses bounds and steps beyond
/// kLargest, with which the computation of this size could overflow.
void check_range(const std::vector<value>& arguments) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  std::array<std::int64_t, 3> bounds = {0, 0, 1};  // start, stop, step
  if (arguments.empty() || arguments.size() > 3) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_val<value_int>(arguments[i])) return;
    const std::int64_t bound = arguments[i]->as_int();
    if (bound > kLargest || bound < -kLargest)
      not_supported("range() beyond " + std::to_string(kLargest));
    bounds[arguments.size() == 1 ? 1 : i] = bound;
  }
  if (bounds[2] == 0) return;
  const std::int64_t items = (bounds[1] - bounds[0]) / bounds[2] + 1;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(items, 0));
  RenderBudget::check_list(count);
  RenderBudget::of_thread().take_steps(count);
}

constexpr std::array<std::string_view, 23> kFilters = {
    "trim",   "upper",   "lower",  "title",  "capitalize", "length", "count",  "tojson",
    "string", "default", "d",      "join",   "items",      "list",   "map",    "selectattr",
    "first",  "last",    "reject", "select", "rejectattr", "safe",   "replace"};
constexpr std::array<std::string_view, 6> kCharacterFilters = {"trim",    "tojson", "string",
                                                               "default", "safe",   "replace"};
constexpr std::array<std::string_view, 7> kTextFilters = {"trim",  "string", "replace",   "upper",
                                                          "lower", "title",  "capitalize"};
constexpr std::array<std::string_view, 6> kItemFilters = {"length", "count",   "first",
                                                          "last",   "default", "d"};
constexpr std::array<std::string_view, 4> kTestingFilters = {"select", "reject", "selectattr",
                                                             "rejectattr"};

/// Executes operand | filter(arguments).
struct Filtered : jinja::expression {
  Filtered(statement_ptr whole, CalledName filter)
      : whole_(std::move(whole)),
        node_(static_cast<const jinja::filter_expression&>(*whole_)),
        filter_(std::move(filter)) {
    pos = whole_->pos;
  }
  std::string type() const override { return whole_->type(); }

  value execute_impl(context& ctx) const override {
    if (!contains(kFilters, filter_.name)) not_supported("filter `" + filter_.name + "`");
    const value operand = input(node_.operand->execute(ctx));
    std::vector<value> arguments;
    if (filter_.arguments != nullptr) arguments = evaluate(*filter_.arguments, ctx);
    check_size(operand, arguments);
    auto name = std::make_unique<jinja::identifier>(filter_.name);
    name->pos = pos;
    statement_ptr filter = std::move(name);
    if (filter_.arguments != nullptr)
      filter = std::make_unique<jinja::call_expression>(std::move(filter), computed(arguments));
    const jinja::filter_expression now(computed(operand), std::move(filter));
    return now.execute_impl(ctx);
  }

private:
  bool is(std::string_view name) const { return filter_.name == name; }

  /// Checks that the filter supports the operand `v`. Returns the value to which the interpreter
  /// applies the filter. This is `v`, or another text if the result for `v` would differ from
  /// Python's.
  value input(const value& v) const {
    RenderBudget::of_thread().take(v);
    if (!contains(kItemFilters, filter_.name)) RenderBudget::of_thread().take_items(v);
    const std::string what = "filter `" + filter_.name + "`";
    if (is_text(v) && (is("length") || is("count"))) return as_many_bytes(v);
    if (!contains(kCharacterFilters, filter_.name) && !is("d")) need_ascii(v, what);
    if (filter_.arguments != nullptr && (is("tojson") || is("trim")))
      not_supported(what + " with arguments");
    if (contains(kTextFilters, filter_.name) && !is_text(v) && !is_val<value_int>(v))
      not_supported(what + " of a value of type " + v->type());
    return is("trim") ? strip(v, true, true) : v;
  }

  void check_size(const value& v, const std::vector<value>& arguments) const {
    if (is("replace") && is_text(v)) check_replace(v, arguments);
    if (is("join")) check_join(v, arguments);
    if (is("tojson") || is("string")) check_shown(v);
    if (!contains(kTestingFilters, filter_.name)) return;
    RenderBudget& budget = RenderBudget::of_thread();
    budget.take_deep(v);
    const std::size_t items = is_val<jinja::value_array>(v) ? v->as_array().size() : 1;
    for (const value& argument : arguments) {
      budget.take_deep(argument);
      budget.take_bytes(items * text_bytes(argument));
    }
  }

  statement_ptr whole_;
  const jinja::filter_expression& node_;
  CalledName filter_;
};

constexpr std::array<std::string_view, 18> kTests = {
    "defined",  "undefined", "none",   "string",  "mapping", "iterable",
    "sequence", "boolean",   "number", "integer", "true",    "false",
    "odd",      "even",      "eq",     "equalto", "ne",      "in"};

/// Takes the steps and bytes of a comparison of two values, or of a search for `left` in `right`,
/// from the RenderBudget of the thread.
void take_comparison(const value& left, const value& right) {
  RenderBudget& budget = RenderBudget::of_thread();
  budget.take_deep(left);
  budget.take_deep(right);
  if (is_text(left) && is_text(right))
    budget.take_bytes(right->val_str.length() * (left->val_str.length() / 64));
  if (is_val<jinja::value_array>(right))
    budget.take_bytes(right->as_array().size() * text_bytes(left));
}

/// Executes `operand is test(arguments)`.
struct Tested : jinja::expression {
  Tested(statement_ptr whole, CalledName test)
      : whole_(std::move(whole)),
        node_(static_cast<const jinja::test_expression&>(*whole_)),
        test_(std::move(test)) {
    pos = whole_->pos;
  }
  std::string type() const override { return whole_->type(); }

  value execute_impl(context& ctx) const override {
    if (!contains(kTests, test_.name)) not_supported("test `" + test_.name + "`");
    const value operand = node_.operand->execute(ctx);
    RenderBudget::of_thread().take_steps(1);
    if (operand->is_undefined() && (test_.name == "iterable" || test_.name == "sequence"))
      not_supported("test `" + test_.name + "` of an undefined value");
    statement_ptr test = std::make_unique<jinja::identifier>(test_.name);
    if (test_.arguments != nullptr) {
      const std::vector<value> arguments = evaluate(*test_.arguments, ctx);
      for (const value& argument : arguments)
        take_comparison(operand, argument);
      test = std::make_unique<jinja::call_expression>(std::move(test), computed(arguments));
    }
    return jinja::test_expression(computed(operand), node_.negate, std::move(test))
        .execute_impl(ctx);
  }

private:
  statement_ptr whole_;
  const jinja::test_expression& node_;
  CalledName test_;
};

/// Executes `left operation right`. Refuses operations for which the interpreter would give another
/// result than Python, or a result that is too large.
struct Operated : jinja::expression {
  explicit Operated(statement_ptr whole)
      : whole_(std::move(whole)), node_(static_cast<const jinja::binary_expression&>(*whole_)) {
    pos = whole_->pos;
  }
  std::string type() const override { return whole_->type(); }

  value execute_impl(context& ctx) const override {
    const value left = node_.left->execute(ctx);
    const value right = node_.right->execute(ctx);
    RenderBudget::of_thread().take(left);
    RenderBudget::of_thread().take(right);
    const std::string& op = node_.op.value;
    if (op == "~") return joined(shown(left), shown(right));
    if (op == "+" && is_text(left) && is_text(right))
      return joined(left->as_string(), right->as_string());
    if (op == "+") check_sum(left, right);
    if (op == "*") check_product(left, right);
    if (op == "%" || op == "/") check_quotient(left, right);
    if (op == "==" || op == "!=" || op == "in" || op == "not in") take_comparison(left, right);
    return jinja::binary_expression(node_.op, computed(left), computed(right)).execute_impl(ctx);
  }

private:
  static value joined(jinja::string left, const jinja::string& right) {
    RenderBudget::check_text(left.length() + right.length());
    return mk_val<jinja::value_string>(left.append(right));
  }

  static jinja::string shown(const value& v) {
    if (v->is_none()) return std::string("None");
    if (v->is_undefined()) return std::string();
    if (!is_text(v) && !is_val<value_int>(v) && !is_val<jinja::value_bool>(v))
      not_supported("`~` with a value of type " + v->type());
    return v->as_string();
  }

  static void check_list(std::size_t items) {
    RenderBudget::check_list(items);
    RenderBudget::of_thread().take_steps(items);
  }

  static void check_sum(const value& left, const value& right) {
    if (left->is_undefined() || right->is_undefined())
      throw std::runtime_error("an undefined value is added");
    if (is_text(left) || is_text(right))
      throw std::runtime_error("values of type " + left->type() + " and " + right->type() +
                               " are added");
    if (is_val<jinja::value_array>(left) && is_val<jinja::value_array>(right))
      check_list(left->as_array().size() + right->as_array().size());
  }

  static void check_product(const value& left, const value& right) {
    const value& text = is_text(left) ? left : right;
    const value& times = is_text(left) ? right : left;
    if (!is_text(text) || !is_val<value_int>(times) || times->as_int() <= 0) return;
    const auto count = static_cast<std::size_t>(times->as_int());
    RenderBudget::of_thread().take_steps(count);
    RenderBudget::check_text(text->val_str.length() * count);
  }

  void check_quotient(const value& left, const value& right) const {
    if (!is_val<value_int>(left) || !is_val<value_int>(right)) return;
    if (right->as_int() == 0) throw std::runtime_error("a number is divided by zero");
    if (node_.op.value == "%" && (left->as_int() < 0) != (right->as_int() < 0))
      not_supported("`%` of numbers with different signs");
  }

  statement_ptr whole_;
  const jinja::binary_expression& node_;
};

/// An expression that executes a node without owning the node.
struct Borrowed : jinja::expression {
  explicit Borrowed(const jinja::statement& node) : node_(node) { pos = node.pos; }
  value execute_impl(context& ctx) const override { return node_.execute(ctx); }

private:
  const jinja::statement& node_;
};

/// Executes callee(arguments) within the limits of the RenderBudget.
struct Called : jinja::expression {
  Called(statement_ptr whole, std::string method)
      : whole_(std::move(whole)),
        node_(static_cast<const jinja::call_expression&>(*whole_)),
        method_(std::move(method)) {
    pos = whole_->pos;
    if (const auto* name = dynamic_cast<const jinja::identifier*>(node_.callee.get()))
      function_ = name->val;
  }
  std::string type() const override { return whole_->type(); }

  value execute_impl(context& ctx) const override {
    check_stack();
    const RenderBudget::Call call;
    RenderBudget& budget = RenderBudget::of_thread();
    budget.take_scopes(1);
    const std::vector<value> arguments = evaluate(node_.args, ctx);
    const jinja::call_expression now(callee(arguments, ctx), computed(arguments));
    value result = now.execute_impl(ctx);
    budget.take_items(result);
    if (is_val<jinja::value_object>(result)) budget.take_deep(result);
    if (function_ == "namespace") add_namespace(result);
    return result;
  }

private:
  /// Checks that the result of the call will not be too large. Returns an expression for the
  /// callee. For a method call object.method(...), the returned expression contains the value of
  /// the object, so that the object's expression is not evaluated again.
  statement_ptr callee(const std::vector<value>& arguments, context& ctx) const {
    if (method_.empty()) {
      if (function_ == "range") check_range(arguments);
      if (function_ == "tojson")
        for (const value& argument : arguments)
          check_shown(argument);
      return std::make_unique<Borrowed>(*node_.callee);
    }
    const auto& member = static_cast<const jinja::member_expression&>(*node_.callee);
    const value object = member.object->execute(ctx);
    if (is_text(object) && method_ == "replace") check_replace(object, arguments);
    if (is_text(object) && method_ == "split") check_split(object, arguments);
    statement_ptr property = std::make_unique<jinja::identifier>(method_);
    if (member.computed) property = computed(mk_val<jinja::value_string>(method_));
    return std::make_unique<jinja::member_expression>(computed(object), std::move(property),
                                                      member.computed);
  }

  static void add_namespace(const value& made) {
    RenderBudget& budget = RenderBudget::of_thread();
    if (budget.holds_namespace(made)) not_supported("a namespace inside a namespace");
    budget.add_namespace(made);
  }

  statement_ptr whole_;
  const jinja::call_expression& node_;
  std::string method_;
  std::string function_;  // name of the callee; "" if the callee is not an identifier
};

}  // namespace

statement_ptr filtered(statement_ptr node, CalledName filter) {
  return std::make_unique<Filtered>(std::move(node), std::move(filter));
}

statement_ptr tested(statement_ptr node, CalledName test) {
  return std::make_unique<Tested>(std::move(node), std::move(test));
}

statement_ptr operated(statement_ptr node) {
  return std::make_unique<Operated>(std::move(node));
}

statement_ptr called(statement_ptr node, std::string method) {
  return std::make_unique<Called>(std::move(node), std::move(method));
}

}  // namespace mgpu::text
