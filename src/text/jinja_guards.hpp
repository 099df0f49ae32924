#pragma once

#include <cstddef>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Changes the program of a template so that it produces the same text as Python's Jinja. If the
/// interpreter of llama.cpp would produce another text, the program throws an exception with the
/// reason instead. The changes concern undefined values, white space, characters outside ASCII, and
/// printed values. Filters and methods whose results were not compared with Python's are refused.
/// The program can be executed only while the thread has a RenderBudget, the limits of a rendering.
///
/// Returns: an upper bound on the number of variables of the program
/// Source:  jinja2 3.1 as configured by transformers 5.23 (utils/chat_template_utils.py)
std::size_t guard(jinja::program& program);

}  // namespace mgpu::text
