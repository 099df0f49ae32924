#pragma once

#include <jinja/runtime.h>

namespace mgpu::text {

/// Makes a program do what Python's Jinja does, or stop with a reason, where the interpreter of
/// llama.cpp would go on with another text: undefined values, white space and characters outside
/// ASCII, values that are printed, filters and methods that were not compared.
///
/// Source: jinja2 3.1 as transformers 5.23 sets it up (utils/chat_template_utils.py)
void guard(jinja::program& program);

}  // namespace mgpu::text
