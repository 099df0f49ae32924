#pragma once

#include <string>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Each function takes a node of a program. It returns a node that behaves like Python, or stops
/// with a reason when it is executed.
jinja::statement_ptr refused(jinja::statement_ptr node);

/// Wraps {{ node }}.
jinja::statement_ptr printed(jinja::statement_ptr node);

/// Wraps the object of node.member or node['member'], which may be called.
jinja::statement_ptr object_of(jinja::statement_ptr node, std::string member, bool is_called,
                               bool has_arguments);

/// Wraps the object of node[...].
jinja::statement_ptr indexed(jinja::statement_ptr node, bool is_slice);

/// Wraps the input of node | filter.
jinja::statement_ptr filtered(jinja::statement_ptr node, std::string filter, bool has_arguments);

/// Wraps the input of `node is test`.
jinja::statement_ptr tested(jinja::statement_ptr node, std::string test);

/// Wraps a node that is the `operation` + or ~.
jinja::statement_ptr joined(jinja::statement_ptr node, const jinja::binary_expression& operation);

}  // namespace mgpu::text
