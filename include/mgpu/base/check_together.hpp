#pragma once

#include <functional>
#include <initializer_list>

namespace mgpu {

/// Runs checks that throw Failure (rules between keys), and throws what they found as one.
///
/// Errors: the only Failure there was, or one that shows all of them.
void check_together(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
