#pragma once

#include <cstddef>
#include <cstdint>

// Shapes in this header: N = tokens of all sequences, R = sequences, C = width of a head, H = query
// heads, G = key heads. G divides H; query head h reads key head h / (H / G).
namespace mgpu::kernels {

/// Arguments of varlen_attention_grad(). The sequences are complete and concatenated. A token
/// attends only to tokens of its sequence, up to its position.
///
/// Sequences that begin with the same tokens can share this prefix. The arrays then hold the tokens
/// of the prefix only once, in an earlier sequence. For each later sequence with this prefix, the
/// arrays hold only the tokens after the prefix. These are the own tokens of that sequence.
struct VarlenAttentionGradArgs {
  const float* queries;                 // [N, H, C]
  const float* keys;                    // [N, G, C]
  const float* values;                  // [N, G, C]
  const float* grad_out;                // [N, H, C]
  float* grad_queries;                  // [N, H, C] written
  float* grad_keys;                     // [N, G, C] written
  float* grad_values;                   // [N, G, C] written
  const std::int64_t* sequence_begins;  // [R + 1] first own token of each sequence, and N
  std::size_t num_sequences;            // R
  std::size_t heads;                    // H
  std::size_t kv_heads;                 // G
  std::size_t head_dim;                 // C
  std::int64_t window;  // number of keys that a query attends to, including its own; 0: all
  float scale;          // multiplies the product of query and key
  const float* sinks = nullptr;  // [H] score of the sink, a key without a value; nullptr: none
  float* grad_sinks = nullptr;   // [H] incremented; required if there are sinks

  // The prefix of each sequence; nullptr: no sequence has one.
  const std::int64_t* prefix_begins = nullptr;  // [R] first token of the prefix
  const std::int64_t* prefix_counts = nullptr;  // [R] tokens of the prefix; 0: none
};

/// Computes the gradients of the attention of paged_attention(), but for complete sequences without
/// a cache. It recomputes the probabilities of up to 16 queries at a time. The gradients of a
/// shared prefix are added in the order of the sequences with this prefix. The function runs only
/// on the CPU. On GPUs, training computes these gradients with matrix products of cuBLAS.
///
/// Memory: pointers on the host. Allocates about (longest sequence) * (6 * C + 48) floats.
/// Errors: ShapeError when G does not divide H, or when a prefix is not before the own tokens of
///         its sequence.
/// Source: Dao et al., FlashAttention, NeurIPS 2022, appendix B; Xiao et al., arXiv 2309.17453
///         (sinks).
namespace cpu {
void varlen_attention_grad(const VarlenAttentionGradArgs& args);
}

}  // namespace mgpu::kernels
