#include "jinja_guards.hpp"

#include <stdexcept>
#include <utility>

#include "jinja_nodes.hpp"

namespace mgpu::text {
namespace {

using jinja::expression;
using jinja::statement_ptr;
using jinja::statements;

/// Walks the syntax tree of a template, and wraps its nodes in the nodes of jinja_nodes.hpp. The
/// wrapping nodes take steps from the RenderBudget (the limits of a rendering), and behave as in
/// Python's Jinja or throw.
class Walk {
public:
  /// Visits the statements of a body, such as the body of a loop. Wraps expressions whose values
  /// the template prints. Inserts a first statement, which takes steps and bytes from the
  /// RenderBudget for each execution of the body.
  void visit_body(statements& nodes) {
    if (nodes.empty()) return;
    const std::size_t nodes_outside = std::exchange(nodes_, 0);
    const std::size_t bytes_outside = std::exchange(bytes_, 0);
    for (statement_ptr& node : nodes) {
      const bool is_text = jinja::is_stmt<jinja::string_literal>(node);
      const bool is_output = jinja::is_stmt<expression>(node) && !is_text;
      visit(node);
      if (is_output) node = printed(std::move(node));
    }
    nodes.insert(nodes.begin(), counted(nodes_, bytes_));
    nodes_ = nodes_outside;
    bytes_ = bytes_outside;
  }

  std::size_t names() const { return names_; }

private:
  void visit_all(statements& nodes) {
    for (statement_ptr& node : nodes)
      visit(node);
  }

  CalledName visit_name(statement_ptr& node) {
    if (auto* plain = jinja::cast_stmt<jinja::identifier>(node)) return {plain->val};
    auto* call = jinja::cast_stmt<jinja::call_expression>(node);
    auto* name = call ? jinja::cast_stmt<jinja::identifier>(call->callee) : nullptr;
    if (name == nullptr) throw std::runtime_error("a filter or test without a name");
    visit_all(call->args);
    return {name->val, call->args.empty() ? nullptr : &call->args};
  }

  /// Visits object.member or object[...]. Returns the name of the member; "" if an expression other
  /// than a string literal computes the name.
  std::string visit_member(jinja::member_expression& member, bool is_called, bool has_arguments) {
    visit(member.object);
    const auto* name = jinja::cast_stmt<jinja::identifier>(member.property);
    const auto* key = jinja::cast_stmt<jinja::string_literal>(member.property);
    const bool is_slice = jinja::is_stmt<jinja::slice_expression>(member.property);
    std::string known;
    if (!member.computed && name != nullptr) known = name->val;
    if (member.computed && key != nullptr) known = key->val;
    if (member.computed) visit(member.property);
    if (!member.computed || !known.empty())
      member.object = object_of(std::move(member.object), known, is_called, has_arguments);
    else
      member.object = indexed(std::move(member.object), is_slice);
    return known;
  }

  void visit_call(statement_ptr& node, jinja::call_expression& call) {
    visit_all(call.args);
    std::string method;
    if (auto* member = jinja::cast_stmt<jinja::member_expression>(call.callee))
      method = visit_member(*member, true, !call.args.empty());
    else if (!jinja::is_stmt<jinja::identifier>(call.callee))
      visit(call.callee);
    node = called(std::move(node), std::move(method));
  }

  void visit_filter(statement_ptr& node, jinja::filter_expression& filter) {
    visit(filter.operand);
    CalledName name = visit_name(filter.filter);
    node = filtered(std::move(node), std::move(name));
  }

  void visit_test(statement_ptr& node, jinja::test_expression& test) {
    if (!jinja::is_stmt<jinja::identifier>(test.operand)) visit(test.operand);
    CalledName name = visit_name(test.test);
    node = tested(std::move(node), std::move(name));
  }

  void visit_binary(statement_ptr& node, jinja::binary_expression& binary) {
    visit(binary.left);
    visit(binary.right);
    if (binary.op.value != "and" && binary.op.value != "or") node = operated(std::move(node));
  }

  /// Visits {% set ... %}.
  void visit_set(statement_ptr& node, jinja::set_statement& set) {
    ++names_;
    if (set.val) visit(set.val);
    visit_body(set.body);
    if (jinja::is_stmt<jinja::member_expression>(set.assignee)) node = assigned(std::move(node));
  }

  /// Visits the expression that a loop iterates over. It is a select_expression if the loop has a
  /// condition on its items ({% for x in list if condition %}).
  void visit_iterable(statement_ptr& node) {
    auto* select = jinja::cast_stmt<jinja::select_expression>(node);
    if (select == nullptr) {
      visit(node);
      node = iterated(std::move(node));
      return;
    }
    visit(select->lhs);
    select->lhs = iterated(std::move(select->lhs));
    const std::size_t before = nodes_;
    visit(select->test);
    select->test = repeated(std::move(select->test), 1 + nodes_ - before);
  }

  bool visit_statement(statement_ptr& node) {
    if (auto* branch = jinja::cast_stmt<jinja::if_statement>(node)) {
      visit(branch->test);
      visit_body(branch->body);
      visit_body(branch->alternate);
    } else if (auto* loop = jinja::cast_stmt<jinja::for_statement>(node)) {
      names_ += 2;  // the variable of the loop, and the name `loop`
      visit_iterable(loop->iterable);
      visit_body(loop->body);
      visit_body(loop->default_block);
    } else if (auto* set = jinja::cast_stmt<jinja::set_statement>(node)) {
      visit_set(node, *set);
    } else if (auto* macro = jinja::cast_stmt<jinja::macro_statement>(node)) {
      names_ += 1 + macro->args.size();
      visit_all(macro->args);
      visit_body(macro->body);
    } else if (jinja::is_stmt<jinja::filter_statement>(node) ||
               jinja::is_stmt<jinja::call_statement>(node) ||
               jinja::is_stmt<jinja::spread_expression>(node)) {
      node = refused(std::move(node));
    } else {
      return false;
    }
    return true;
  }

  void visit_expression(statement_ptr& node) {
    if (const auto* name = jinja::cast_stmt<jinja::identifier>(node)) {
      if (name->val == "range" || name->val == "tojson") node = named(std::move(node));
    } else if (auto* member = jinja::cast_stmt<jinja::member_expression>(node)) {
      visit_member(*member, false, false);
    } else if (auto* call = jinja::cast_stmt<jinja::call_expression>(node)) {
      visit_call(node, *call);
    } else if (auto* filter = jinja::cast_stmt<jinja::filter_expression>(node)) {
      visit_filter(node, *filter);
    } else if (auto* test = jinja::cast_stmt<jinja::test_expression>(node)) {
      visit_test(node, *test);
    } else if (auto* unary = jinja::cast_stmt<jinja::unary_expression>(node)) {
      visit(unary->argument);
    } else if (auto* binary = jinja::cast_stmt<jinja::binary_expression>(node)) {
      visit_binary(node, *binary);
    }
  }

  /// Visits the parts of an expression that combines other expressions, such as a list or slice.
  /// Does nothing for other nodes.
  void visit_container(statement_ptr& node) {
    const auto visit_if = [&](statement_ptr& child) {
      if (child) visit(child);
    };
    const auto visit_bound = [&](statement_ptr& child) {
      if (!child) return;
      visit(child);
      child = bound(std::move(child));
    };
    if (auto* list = jinja::cast_stmt<jinja::array_literal>(node)) {
      visit_all(list->val);
      node = built(std::move(node));
    } else if (auto* tuple = jinja::cast_stmt<jinja::tuple_literal>(node)) {
      visit_all(tuple->val);
      node = built(std::move(node));
    } else if (auto* object = jinja::cast_stmt<jinja::object_literal>(node)) {
      for (auto& [key, item] : object->val)
        visit(item);
      node = built(std::move(node));
    } else if (auto* select = jinja::cast_stmt<jinja::select_expression>(node)) {
      visit(select->lhs);
      visit(select->test);
    } else if (auto* slice = jinja::cast_stmt<jinja::slice_expression>(node)) {
      visit_bound(slice->start_expr);
      visit_bound(slice->stop_expr);
      visit_bound(slice->step_expr);
    } else if (auto* argument = jinja::cast_stmt<jinja::keyword_argument_expression>(node)) {
      visit(argument->val);
    } else if (auto* choice = jinja::cast_stmt<jinja::ternary_expression>(node)) {
      visit(choice->condition);
      visit(choice->true_expr);
      visit_if(choice->false_expr);
    }
  }

  void visit(statement_ptr& node) {
    ++nodes_;
    if (const auto* text = jinja::cast_stmt<jinja::string_literal>(node))
      bytes_ += text->val.size();
    if (!visit_statement(node)) {
      visit_container(node);
      visit_expression(node);
    }
  }

  std::size_t nodes_ = 0;  // number of nodes visited so far in the innermost body
  std::size_t bytes_ = 0;  // bytes of the literal texts of the innermost body so far
  std::size_t names_ = 0;  // bound on the number of variables that the program sets
};

}  // namespace

std::size_t guard(jinja::program& program) {
  Walk walk;
  walk.visit_body(program.body);
  return walk.names();
}

}  // namespace mgpu::text
