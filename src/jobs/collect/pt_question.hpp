#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace mgpu::jobs {

/// A node of a stored tree: the work of an agent or, if the run has no agents, steps of text.
struct PtNode {
  std::int32_t parent = 0;       // number of the parent node; 0: the question
  std::int32_t depth = 0;        // number of ancestors, without the question
  std::string agent{};           // name of the agent; "step" for steps of text
  std::int32_t agent_index = 0;  // index of the agent; steps of text: index of the last step
  std::vector<std::int32_t> children{};
  std::optional<double> score{};  // score of the path up to the node; nullopt: steps of text
  double value = 0.0;
  double standard_error = 0.0;
  std::int32_t visits = 0;              // answers below the node
  std::int32_t right = 0;               // right answers below the node
  std::string text{};                   // text of the node's steps; "": no solution has them
  std::optional<std::string> answer{};  // answer of the solution that ends at this node, "" if it
                                        // states no answer; nullopt: no solution ends here
  std::optional<at::Tensor> latents{};  // [latent steps, hidden size] f16 or f32; nullopt: none
};

/// A question of a result file, with its tree.
struct PtQuestion {
  std::int64_t index = 0;  // index of the question in the data set
  std::string prompt{};
  std::string gold_answer{};
  std::string final_answer{};  // most frequent answer; with agents, the vote; "": none
  bool is_right = false;
  std::vector<PtNode> nodes{};  // nodes[n - 1] is node n of the row; the root is left out
};

/// Returns the dict that stands for a question in a file of --export pt. docs/formats.md lists the
/// members of this dict.
c10::IValue record_of(const PtQuestion& question);

}  // namespace mgpu::jobs
