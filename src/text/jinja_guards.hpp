#pragma once

#include <cstddef>

#include <jinja/runtime.h>

namespace mgpu::text {

/// Makes a program behave like Python's Jinja, or stop with a reason where the interpreter of
/// llama.cpp would produce another text. This concerns undefined values, white space and characters
/// outside ASCII, printed values, and filters and methods that were not compared. The program can
/// be executed only within a RenderBudget.
///
/// Returns: an upper bound on the number of variables of the program
/// Source:  jinja2 3.1 as configured by transformers 5.23 (utils/chat_template_utils.py)
std::size_t guard(jinja::program& program);

}  // namespace mgpu::text
