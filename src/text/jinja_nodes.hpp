#pragma once

#include <cstddef>
#include <string>

#include <jinja/runtime.h>

namespace mgpu::text {

/// The name of a filter or test, and its arguments.
struct CalledName {
  std::string name;
  const jinja::statements* arguments = nullptr;  // nullptr: none
};

// Each function except counted() takes `node`, a node of a template's syntax tree, and returns a
// new node that replaces `node` and owns it. When the new node is executed, it takes steps (units
// of time) or bytes from the RenderBudget, the limits of a rendering. It behaves like `node` in
// Python's Jinja, or throws an exception with the reason. "Wraps X" means that `node` must be an X.

/// Wraps a statement that is not supported. The new node always throws.
jinja::statement_ptr refused(jinja::statement_ptr node);

/// Wraps the expression in {{ ... }}, to print None like Python, and to refuse types of values that
/// Python prints differently.
jinja::statement_ptr printed(jinja::statement_ptr node);

/// Wraps the object in object.member or object['member']. `is_called`: whether the template calls
/// the member. `has_arguments`: whether this call has arguments.
jinja::statement_ptr object_of(jinja::statement_ptr node, std::string member, bool is_called,
                               bool has_arguments);

/// Wraps the object x in x[...], to refuse an undefined object and unsupported parts of texts.
/// `is_slice`: whether the index is a slice.
jinja::statement_ptr indexed(jinja::statement_ptr node, bool is_slice);

/// Wraps a bound or the step of a slice, to refuse numbers with which sums could overflow.
jinja::statement_ptr bound(jinja::statement_ptr node);

/// Wraps a filter_expression, to refuse unsupported filters and results that are too large.
jinja::statement_ptr filtered(jinja::statement_ptr node, CalledName filter);

/// Wraps a test_expression, to refuse unsupported tests.
jinja::statement_ptr tested(jinja::statement_ptr node, CalledName test);

/// Wraps a binary_expression other than `and` and `or`, to refuse operations whose results would
/// differ from Python's or would be too large.
jinja::statement_ptr operated(jinja::statement_ptr node);

/// Wraps a call_expression, to limit nested calls and the sizes of results. `method` is the name of
/// the member that is called; "" if no member is called.
jinja::statement_ptr called(jinja::statement_ptr node, std::string method);

/// Wraps a literal of a list, tuple or object, to take steps for each value inside it.
jinja::statement_ptr built(jinja::statement_ptr node);

/// Wraps the expression that a loop iterates over, to take steps for the scope of each iteration.
jinja::statement_ptr iterated(jinja::statement_ptr node);

/// Wraps the condition on the items of a loop, to take `steps` each time the condition is
/// evaluated. `steps` is one more than the number of nodes of the condition.
jinja::statement_ptr repeated(jinja::statement_ptr node, std::size_t steps);

/// Wraps the name `range` or `tojson` where it is not called. The new node throws if the value of
/// the name is a function.
jinja::statement_ptr named(jinja::statement_ptr node);

/// Wraps a set_statement that assigns to a member of an object, to refuse objects other than
/// namespaces.
jinja::statement_ptr assigned(jinja::statement_ptr node);

/// Returns a statement for the start of a body. The statement prints no text, and takes `steps` and
/// `bytes` from the RenderBudget.
jinja::statement_ptr counted(std::size_t steps, std::size_t bytes);

}  // namespace mgpu::text
