#include <mgpu/lm/training/token_loss.hpp>

#include "grad_head.hpp"

namespace mgpu::lm {

PassLoss CrossEntropy::bind(const LmBatch& /*batch*/) const {
  return {.of_logits = grad::cross_entropy};
}

}  // namespace mgpu::lm
