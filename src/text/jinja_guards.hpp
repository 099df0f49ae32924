#pragma once

#include <cstddef>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Changes the program of a template so that it produces the same text as Python's Jinja. If the
/// interpreter of llama.cpp would produce another text, the program stops with a reason instead.
/// This affects undefined values, white space, characters outside ASCII, and printed values. It
/// also affects filters and methods whose results were not compared with Python's. The program can
/// be executed only within a RenderBudget.
///
/// Returns: an upper bound on the number of variables of the program
/// Source:  jinja2 3.1 as configured by transformers 5.23 (utils/chat_template_utils.py)
std::size_t guard(jinja::program& program);

}  // namespace mgpu::text
