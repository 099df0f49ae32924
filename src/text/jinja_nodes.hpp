#pragma once

#include <cstddef>
#include <string>

#include <jinja/runtime.h>

namespace mgpu::text {

/// The name of a filter or test, and its arguments.
struct CalledName {
  std::string name;
  const jinja::statements* arguments = nullptr;  // null: none
};

/// Each function except counted() takes a node of a program, and returns a node that replaces it.
/// When the returned node is executed, it charges the RenderBudget. It then behaves like Python, or
/// throws an exception that says why it cannot. The node of refused() always throws.
/// "Wraps X" below means that `node` is an X.
jinja::statement_ptr refused(jinja::statement_ptr node);

/// Wraps {{ node }}, to print None like Python, and to refuse types that Python prints differently.
jinja::statement_ptr printed(jinja::statement_ptr node);

/// Wraps the object in object.member or object['member']. `is_called`: the template calls the
/// member.
jinja::statement_ptr object_of(jinja::statement_ptr node, std::string member, bool is_called,
                               bool has_arguments);

/// Wraps the object of node[...], to refuse an undefined object and unsupported parts of texts.
jinja::statement_ptr indexed(jinja::statement_ptr node, bool is_slice);

/// Wraps a bound or the step of a slice, to refuse numbers that could overflow.
jinja::statement_ptr bound(jinja::statement_ptr node);

/// Wraps a filter_expression in a node that charges the RenderBudget.
jinja::statement_ptr filtered(jinja::statement_ptr node, CalledName filter);

/// Wraps a test_expression in a node that charges the RenderBudget.
jinja::statement_ptr tested(jinja::statement_ptr node, CalledName test);

/// Wraps a binary_expression other than `and` and `or` in a node that charges the RenderBudget.
jinja::statement_ptr operated(jinja::statement_ptr node);

/// Wraps a call_expression in a node that charges the RenderBudget. `method` is the name of the
/// member that is called; "" if no member is called.
jinja::statement_ptr called(jinja::statement_ptr node, std::string method);

/// Wraps a literal that contains other values, to charge the RenderBudget for each value.
jinja::statement_ptr built(jinja::statement_ptr node);

/// Wraps a value that a loop iterates over, to charge the RenderBudget for each item.
jinja::statement_ptr iterated(jinja::statement_ptr node);

/// Wraps the condition of a loop, to take `steps` from the RenderBudget each time it is evaluated.
/// `steps` is the number of nodes of the condition.
jinja::statement_ptr repeated(jinja::statement_ptr node, std::size_t steps);

/// Wraps a name that is not called, `range` or `tojson`. The new node throws if the value of that
/// name is a function.
jinja::statement_ptr named(jinja::statement_ptr node);

/// Wraps a set_statement that assigns to a member, to refuse all objects except namespaces.
jinja::statement_ptr assigned(jinja::statement_ptr node);

/// Returns a statement to put at the start of a body. It prints nothing, and takes `steps` and
/// `bytes` from the RenderBudget.
jinja::statement_ptr counted(std::size_t steps, std::size_t bytes);

}  // namespace mgpu::text
