#pragma once

#include <string>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Each takes a node of a program and gives one that does the same as Python, or stops with a
/// reason when it is executed.
jinja::statement_ptr refused(jinja::statement_ptr node);

/// {{ node }}
jinja::statement_ptr printed(jinja::statement_ptr node);

/// The node of node.member or node['member'], which may be called.
jinja::statement_ptr object_of(jinja::statement_ptr node, std::string member, bool is_called,
                               bool has_arguments);

/// The node of node[...].
jinja::statement_ptr indexed(jinja::statement_ptr node, bool is_slice);

/// The node of node | filter.
jinja::statement_ptr filtered(jinja::statement_ptr node, std::string filter, bool has_arguments);

/// The node of `node is test`.
jinja::statement_ptr tested(jinja::statement_ptr node, std::string test);

/// A node that is the `operation` + or ~.
jinja::statement_ptr joined(jinja::statement_ptr node, const jinja::binary_expression& operation);

}  // namespace mgpu::text
