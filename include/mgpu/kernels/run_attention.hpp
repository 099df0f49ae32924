#pragma once

#include <cstddef>
#include <cstdint>

// Shapes in this header: N = tokens of all runs, R = runs, H = query heads, G = key heads (G
// divides H; query head h reads key head h / (H / G)), C = width of a head.
namespace mgpu::kernels {

/// Runs are whole sequences, one after the other; none sees another.
struct RunAttentionGradArgs {
  const float* queries;            // [N, H, C]
  const float* keys;               // [N, G, C]
  const float* values;             // [N, G, C]
  const float* grad_out;           // [N, H, C]
  float* grad_queries;             // [N, H, C] written
  float* grad_keys;                // [N, G, C] written
  float* grad_values;              // [N, G, C] written
  const std::int64_t* run_begins;  // [R + 1] first token of each run, and N
  std::size_t runs;                // R
  std::size_t heads;               // H
  std::size_t kv_heads;            // G
  std::size_t head_dim;            // C
  std::int64_t window;             // keys that a query sees, its own included; 0: all
  float scale;                     // times the product of query and key
  const float* sinks = nullptr;    // [H] as in PagedAttentionArgs
  float* grad_sinks = nullptr;     // [H] added to; where there are sinks
};

/// Gradients of paged_attention() of runs whose tokens are their own keys. Makes the probabilities
/// again, of up to 16 queries at a time. On the CPU only: on GPUs the products are cuBLAS's.
///
/// Memory: pointers on the host. Allocates about longest run * (6 * C + 48) floats.
/// Errors: ShapeError when G does not divide H.
/// Source: Dao et al., FlashAttention, NeurIPS 2022, appendix B; Xiao et al., arXiv 2309.17453
///         (sinks).
namespace cpu {
void run_attention_grad(const RunAttentionGradArgs& args);
}

}  // namespace mgpu::kernels
