#pragma once

#include <mgpu/rows/text_steps.hpp>

namespace mgpu::jobs {

using rows::split_into_steps;
using rows::StepRule;
using rows::TextStep;

}  // namespace mgpu::jobs
