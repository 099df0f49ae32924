#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/group.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Nodes with latent states, from the trees in a result file of job collect. A latent step is a
/// forward pass whose input is made from a hidden state instead of a token. N is the number of
/// nodes, and D the hidden size of the model that made the states.
struct LatentNodes {
  std::int64_t width = 0;                 // D
  std::vector<float> states{};            // [N, D] mean of the states of a node's latent steps
  std::vector<double> labels{};           // [N] probabilities to predict, from 0 to 1
  std::vector<std::int64_t> questions{};  // [N] indices of the questions in their data set

  std::int64_t size() const { return std::ssize(labels); }
};

/// The nodes to train on, and those of held-out questions.
struct LatentData {
  LatentNodes training{};
  LatentNodes held_out{};  // empty without prm.held_out
  std::uint32_t crc = 0;   // checksum of the training nodes
};

/// The indices of two nodes of a question. The first node has the larger label.
using NodePair = std::pair<std::int64_t, std::int64_t>;

/// Returns pairs of nodes that belong to the same question. The first pair of a question has the
/// nodes with the largest and the smallest label. The next pair has the nodes with the second
/// largest and the second smallest label, and so on. Pairs of equal labels are left out.
std::vector<NodePair> node_pairs(const LatentNodes& nodes);

/// Returns node_pairs(). `what` names the questions in the error message.
/// Errors: Failure E531 (exit 65) if there is no pair.
std::vector<NodePair> required_pairs(const LatentNodes& nodes, const std::string& what);

/// Reads nodes from a result file of job collect. Leaves out a node if it has no latent states, or
/// if no answer was found below it in the tree. The label of a node depends on
/// settings.learns_values:
///
/// - If it is true, the label is the share of right answers among the answers below the node.
/// - If it is false, the label is 1 if at least one answer below the node is right, else 0.
///
/// Ranks:  local.
/// Errors: Failure E605 (exit 65) if the file has no latent states, if a state is not finite, or if
///         the lists contradict each other; those of store::ListColumn.
LatentNodes read_latent_nodes(const std::filesystem::path& path, const PrmSettings& settings);

/// Reads the nodes on rank 0, shuffles labels if settings.shuffles_labels is true, and divides the
/// nodes into training and held-out nodes. All ranks get the result.
///
/// Ranks:  collective over `world`.
/// Errors: those of read_latent_nodes(). Failure E531 (exit 65) if no node is left to train on, or
///         if prm.held_out is above 0 and leaves no node to measure. With PrmLossKind::pairwise,
///         also Failure E531 if the held-out nodes have no pair.
LatentData load_latent_data(const cluster::Group& world, const std::filesystem::path& path,
                            const PrmSettings& settings);

/// Returns the hidden size of the states in the file `path`.
/// Ranks:  local.
/// Errors: Failure E605 (exit 65) if the file has no latent states; those of store::ListColumn.
std::int64_t latent_width(const std::filesystem::path& path);

/// Returns "12,000 nodes of 500 questions, 43 % right". A node is right if its label is above
/// `threshold`.
std::string description(const LatentNodes& nodes, double threshold);

}  // namespace mgpu::recipes
