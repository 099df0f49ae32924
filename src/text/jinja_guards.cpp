#include "jinja_guards.hpp"

#include <stdexcept>

#include "jinja_nodes.hpp"

namespace mgpu::text {
namespace {

using jinja::expression;
using jinja::statement_ptr;
using jinja::statements;

/// Walks the tree and inserts the guards.
void visit(statement_ptr& node);

void visit_all(statements& nodes) {
  for (statement_ptr& node : nodes)
    visit(node);
}

/// Visits statements whose values are printed.
void visit_body(statements& nodes) {
  for (statement_ptr& node : nodes) {
    const bool is_text = jinja::is_stmt<jinja::string_literal>(node);
    const bool is_output = jinja::is_stmt<expression>(node) && !is_text;
    visit(node);
    if (is_output) node = printed(std::move(node));
  }
}

/// The name of a filter, test or static member, and whether it is called with arguments.
struct Name {
  std::string name;
  bool has_arguments = false;
};

Name visit_name(statement_ptr& node) {
  if (auto* plain = jinja::cast_stmt<jinja::identifier>(node)) return {plain->val};
  auto* call = jinja::cast_stmt<jinja::call_expression>(node);
  auto* name = call ? jinja::cast_stmt<jinja::identifier>(call->callee) : nullptr;
  if (name == nullptr) throw std::runtime_error("a filter or test without a name");
  visit_all(call->args);
  return {name->val, !call->args.empty()};
}

void visit_member(jinja::member_expression& member, bool is_called, bool has_arguments) {
  visit(member.object);
  if (!member.computed) {
    const auto* name = jinja::cast_stmt<jinja::identifier>(member.property);
    member.object =
        object_of(std::move(member.object), name ? name->val : "", is_called, has_arguments);
    return;
  }
  const auto* key = jinja::cast_stmt<jinja::string_literal>(member.property);
  const bool is_slice = jinja::is_stmt<jinja::slice_expression>(member.property);
  visit(member.property);
  if (key != nullptr) {
    member.object = object_of(std::move(member.object), key->val, is_called, has_arguments);
  } else {
    member.object = indexed(std::move(member.object), is_slice);
  }
}

void visit_call(jinja::call_expression& call) {
  visit_all(call.args);
  if (auto* member = jinja::cast_stmt<jinja::member_expression>(call.callee))
    visit_member(*member, true, !call.args.empty());
  else
    visit(call.callee);
}

void visit_filter(jinja::filter_expression& node) {
  visit(node.operand);
  const Name filter = visit_name(node.filter);
  node.operand = filtered(std::move(node.operand), filter.name, filter.has_arguments);
}

void visit_binary(statement_ptr& node, jinja::binary_expression& binary) {
  visit(binary.left);
  visit(binary.right);
  if (binary.op.value == "+" || binary.op.value == "~") node = joined(std::move(node), binary);
}

bool visit_statement(statement_ptr& node) {
  if (auto* branch = jinja::cast_stmt<jinja::if_statement>(node)) {
    visit(branch->test);
    visit_body(branch->body);
    visit_body(branch->alternate);
  } else if (auto* loop = jinja::cast_stmt<jinja::for_statement>(node)) {
    visit(loop->iterable);
    visit_body(loop->body);
    visit_body(loop->default_block);
  } else if (auto* set = jinja::cast_stmt<jinja::set_statement>(node)) {
    if (set->val) visit(set->val);
    visit_body(set->body);
  } else if (auto* macro = jinja::cast_stmt<jinja::macro_statement>(node)) {
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
  if (auto* member = jinja::cast_stmt<jinja::member_expression>(node)) {
    visit_member(*member, false, false);
  } else if (auto* call = jinja::cast_stmt<jinja::call_expression>(node)) {
    visit_call(*call);
  } else if (auto* filter = jinja::cast_stmt<jinja::filter_expression>(node)) {
    visit_filter(*filter);
  } else if (auto* test = jinja::cast_stmt<jinja::test_expression>(node)) {
    visit(test->operand);
    test->operand = tested(std::move(test->operand), visit_name(test->test).name);
  } else if (auto* unary = jinja::cast_stmt<jinja::unary_expression>(node)) {
    visit(unary->argument);
  } else if (auto* binary = jinja::cast_stmt<jinja::binary_expression>(node)) {
    visit_binary(node, *binary);
  }
}

/// Visits expressions that only contain others.
void visit_container(statement_ptr& node) {
  const auto visit_if = [](statement_ptr& child) {
    if (child) visit(child);
  };
  if (auto* list = jinja::cast_stmt<jinja::array_literal>(node)) {
    visit_all(list->val);
  } else if (auto* tuple = jinja::cast_stmt<jinja::tuple_literal>(node)) {
    visit_all(tuple->val);
  } else if (auto* object = jinja::cast_stmt<jinja::object_literal>(node)) {
    for (auto& [key, item] : object->val)
      visit(item);
  } else if (auto* select = jinja::cast_stmt<jinja::select_expression>(node)) {
    visit(select->lhs);
    visit(select->test);
  } else if (auto* slice = jinja::cast_stmt<jinja::slice_expression>(node)) {
    visit_if(slice->start_expr);
    visit_if(slice->stop_expr);
    visit_if(slice->step_expr);
  } else if (auto* argument = jinja::cast_stmt<jinja::keyword_argument_expression>(node)) {
    visit(argument->val);
  } else if (auto* choice = jinja::cast_stmt<jinja::ternary_expression>(node)) {
    visit(choice->condition);
    visit(choice->true_expr);
    visit_if(choice->false_expr);
  }
}

void visit(statement_ptr& node) {
  if (!visit_statement(node)) {
    visit_container(node);
    visit_expression(node);
  }
}

}  // namespace

void guard(jinja::program& program) {
  visit_body(program.body);
}

}  // namespace mgpu::text
