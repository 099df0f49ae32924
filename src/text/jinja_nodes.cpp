#include "jinja_nodes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "jinja_budget.hpp"
#include "jinja_values.hpp"

namespace mgpu::text {
namespace {

using jinja::context;
using jinja::expression;
using jinja::is_val;
using jinja::mk_val;
using jinja::statement_ptr;
using jinja::value;

/// An expression that processes the value of an inner expression.
struct Guarded : expression {
  explicit Guarded(statement_ptr inner) : inner_(std::move(inner)) { pos = inner_->pos; }
  std::string type() const override { return inner_->type(); }

protected:
  value inner(context& ctx) const {
    value v = inner_->execute(ctx);
    RenderBudget::of_thread().take(v);
    return v;
  }
  const jinja::statement& inner() const { return *inner_; }

private:
  statement_ptr inner_;
};

/// A statement that is not supported. It is refused only when the template executes it.
struct Refused : Guarded {
  using Guarded::Guarded;
  value execute_impl(context&) const override { not_supported("`" + type() + "`"); }
};

/// The expression in {{ ... }}. Prints None as Python does, and refuses types of values that Python
/// prints differently.
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

/// An operand that must be defined, because the template accesses its members.
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

/// The object in `object.member` or `object['member']`. If `is_called`, the member is a method that
/// the template calls.
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
    // A member that is no built-in may be a macro or function that the template stored in `v`.
    if (is_val<jinja::value_object>(v) && !v->get_builtins().contains(member_)) return v;
    not_supported("method `" + member_ + "` of a value of type " + v->type());
  }

private:
  /// Refuses `member_` if it is a built-in of lists or texts in the interpreter of llama.cpp,
  /// because the interpreter would give `object.member` another value than Python's Jinja.
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

/// The object x in x[...]. If x is a text, every index is refused, because the interpreter
/// does not support negative indices of texts. A slice of a text that is not ASCII is refused,
/// because the interpreter counts bytes.
struct Indexed : Defined {
  Indexed(statement_ptr inner, bool is_slice) : Defined(std::move(inner)), is_slice_(is_slice) {}
  value execute_impl(context& ctx) const override {
    value v = Defined::execute_impl(ctx);
    if (is_text(v) && !is_slice_) not_supported("a character by its index");
    if (is_slice_) RenderBudget::of_thread().take_items(v);
    need_ascii(v, "a part");
    return v;
  }

private:
  bool is_slice_;
};

/// A bound or step of a slice. Large numbers are refused, because the interpreter adds bounds and
/// steps without a check for overflow.
struct Bound : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    if (is_val<jinja::value_int>(v) && (v->as_int() > kLargest || v->as_int() < -kLargest))
      not_supported("an index beyond " + std::to_string(kLargest));
    return v;
  }
};

/// A list, tuple or object literal. The steps and bytes of its values are taken from the
/// RenderBudget.
struct Built : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    RenderBudget::of_thread().take_deep(v);
    return v;
  }
};

/// The list or object that a loop iterates over. The scopes of all iterations are taken from the
/// RenderBudget at once, because the interpreter makes them before the first iteration.
struct Iterated : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    std::size_t items = 0;
    if (is_val<jinja::value_array>(v)) items = v->as_array().size();
    if (is_val<jinja::value_object>(v)) items = v->as_ordered_object().size();
    RenderBudget::of_thread().take_scopes(items);
    return v;
  }
};

/// The condition on the items of a loop, which is evaluated for each item.
struct Repeated : Guarded {
  Repeated(statement_ptr inner, std::size_t steps) : Guarded(std::move(inner)), steps_(steps) {}
  value execute_impl(context& ctx) const override {
    RenderBudget::of_thread().take_steps(steps_);
    return inner(ctx);
  }

private:
  std::size_t steps_;
};

/// The name `range` or `tojson` without a call. It is refused if its value is a function, because
/// the checks of these two functions are only applied to calls by name.
struct Named : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    value v = inner(ctx);
    if (is_val<jinja::value_func>(v)) not_supported("a function without a call");
    return v;
  }
};

/// Executes {% set object.member = value %}.
struct Assigned : Guarded {
  using Guarded::Guarded;
  value execute_impl(context& ctx) const override {
    const auto& set = static_cast<const jinja::set_statement&>(inner());
    const auto& member = static_cast<const jinja::member_expression&>(*set.assignee);
    const auto* name = dynamic_cast<const jinja::identifier*>(member.property.get());
    const value object = member.object->execute(ctx);
    RenderBudget& budget = RenderBudget::of_thread();
    if (name == nullptr || member.computed || !budget.is_namespace(object))
      throw std::runtime_error("only members of a namespace can be set");
    if (!set.val) return set.execute_impl(ctx);  // {% set x.y %} ... {% endset %} sets a text
    const value v = set.val->execute(ctx);
    budget.take_deep(v);
    if (budget.holds_namespace(v)) not_supported("a namespace inside a namespace");
    object->insert(mk_val<jinja::value_string>(name->val), v);
    return mk_val<jinja::value_undefined>();
  }
};

/// A statement at the start of a body. The statement prints no text, and takes the steps and bytes
/// of one execution of the body from the RenderBudget.
struct Counted : jinja::statement {
  Counted(std::size_t steps, std::size_t bytes) : steps_(steps), bytes_(bytes) { pos = 0; }
  std::string type() const override { return "Block"; }
  value execute_impl(context&) const override {
    check_stack();
    RenderBudget::of_thread().take_steps(steps_);
    RenderBudget::of_thread().take_bytes(bytes_);
    return mk_val<jinja::value_undefined>();
  }

private:
  std::size_t steps_, bytes_;
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

statement_ptr bound(statement_ptr node) {
  return std::make_unique<Bound>(std::move(node));
}

statement_ptr built(statement_ptr node) {
  return std::make_unique<Built>(std::move(node));
}

statement_ptr iterated(statement_ptr node) {
  return std::make_unique<Iterated>(std::move(node));
}

statement_ptr repeated(statement_ptr node, std::size_t steps) {
  return std::make_unique<Repeated>(std::move(node), steps);
}

statement_ptr named(statement_ptr node) {
  return std::make_unique<Named>(std::move(node));
}

statement_ptr assigned(statement_ptr node) {
  return std::make_unique<Assigned>(std::move(node));
}

statement_ptr counted(std::size_t steps, std::size_t bytes) {
  return std::make_unique<Counted>(steps, bytes);
}

}  // namespace mgpu::text
