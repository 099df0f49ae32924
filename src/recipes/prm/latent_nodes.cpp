#include "latent_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include <ATen/ops/empty.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/broadcast_list.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "questions.hpp"

namespace mgpu::recipes {
namespace {

namespace fs = std::filesystem;

Failure no_latents(const fs::path& path, const char* why) {
  return Failure({"E605",
                  ExitCode::data,
                  why,
                  {"  --> " + path.string()},
                  "data.path=results.h5 of job collect with collect.steps=latent, and without "
                  "collect.latent.store=none"});
}

store::ListColumn open_states(const fs::path& path) {
  if (!store::has_lists(path, "samples", "latents"))
    throw no_latents(path, "the file has no latent states");
  return {path, "samples", "latents"};
}

/// The columns of the table `samples` that describe nodes.
struct NodeColumns {
  explicit NodeColumns(const fs::path& path)
      : states(open_states(path)),
        steps(path, "samples", "node_latents"),
        right(path, "samples", "node_right"),
        visits(path, "samples", "node_visits"),
        questions(store::read_table(path, "samples").column("question_index")) {
    for (const store::ListColumn* column : {&states, &steps, &right, &visits})
      column->check_bytes();
    const std::size_t rows = questions.values<std::int64_t>().size();
    if (!right.has_lengths_of(steps) || !visits.has_lengths_of(steps) ||
        std::cmp_not_equal(rows, steps.rows()) || states.rows() != steps.rows())
      throw no_latents(path, "the columns of the file describe different nodes");
  }

  store::ListColumn states;  // [latent steps, D] of all nodes
  store::ListColumn steps;   // number of latent steps of each node
  store::ListColumn right;   // number of right answers found below each node
  store::ListColumn visits;  // number of answers found below each node
  store::ReadColumn questions;
};

/// Returns the states of the latent steps of all nodes of a row, [latent steps, D] float64.
at::Tensor states_of(const store::ListColumn& column, std::int64_t row) {
  const store::ReadColumn read = column.read(row, 1).values;
  const auto type = column.spec().type == store::ColumnType::f16 ? at::kHalf : at::kFloat;
  const at::Tensor stored = at::empty({column.items_of(row), column.spec().width}, type);
  if (stored.nbytes() != read.bytes.size()) throw Error("latents: wrong number of bytes");
  if (!read.bytes.empty()) std::memcpy(stored.data_ptr(), read.bytes.data(), read.bytes.size());
  return stored.to(at::kDouble);
}

/// Adds the nodes of a row to `nodes`. Leaves out a node if it has no latent steps, or if no answer
/// was found below it in the tree.
void add_row(const NodeColumns& columns, std::int64_t row, bool learns_values, LatentNodes& nodes) {
  const at::Tensor states = states_of(columns.states, row);
  const store::ReadLists steps = columns.steps.read(row, 1);
  const store::ReadLists right_answers = columns.right.read(row, 1);
  const store::ReadLists all_answers = columns.visits.read(row, 1);
  std::int64_t first = 0;
  for (std::size_t node = 0; node < steps.row<std::int32_t>(0).size(); ++node) {
    const std::int64_t count = steps.row<std::int32_t>(0)[node];
    if (count < 0 || first + count > states.size(0)) throw Error("latents: too few steps");
    const std::int64_t own = std::exchange(first, first + count);
    const std::int32_t right = right_answers.row<std::int32_t>(0)[node];
    const std::int32_t answers = all_answers.row<std::int32_t>(0)[node];
    if (right < 0 || right > answers) throw Error("latents: more right answers than answers");
    if (count == 0 || answers == 0) continue;
    const at::Tensor mean = states.narrow(0, own, count).mean(0).to(at::kFloat).contiguous();
    const float* begin = mean.const_data_ptr<float>();
    if (!std::all_of(begin, begin + nodes.width, [](float x) { return std::isfinite(x); }))
      throw Error("latents: a state is not finite");
    nodes.states.insert(nodes.states.end(), begin, begin + nodes.width);
    const double share = static_cast<double>(right) / answers;
    nodes.labels.push_back(learns_values ? share : right > 0 ? 1.0 : 0.0);
    nodes.questions.push_back(
        columns.questions.values<std::int64_t>()[static_cast<std::size_t>(row)]);
  }
  if (first != states.size(0)) throw Error("latents: too many steps");
}

void append_node(const LatentNodes& from, std::int64_t node, LatentNodes& to) {
  const auto first = from.states.begin() + node * from.width;
  to.width = from.width;
  to.states.insert(to.states.end(), first, first + from.width);
  to.labels.push_back(from.labels[static_cast<std::size_t>(node)]);
  to.questions.push_back(from.questions[static_cast<std::size_t>(node)]);
}

/// Permutes the labels of the nodes of each question at random.
void shuffle(std::uint64_t seed, LatentNodes& nodes) {
  std::uint64_t question = 0;
  for (std::size_t begin = 0; begin < nodes.questions.size();) {
    std::vector<std::size_t> places;
    for (std::size_t node = begin;
         node < nodes.questions.size() && nodes.questions[node] == nodes.questions[begin]; ++node)
      places.push_back(node);
    begin += places.size();
    exchange_labels(seed, question++, places, nodes.labels);
  }
}

[[noreturn]] void refuse_lack(const fs::path& path, const char* of) {
  throw Failure({"E531",
                 ExitCode::data,
                 std::string("there is no node with latent states ") + of,
                 {"  --> " + path.string()},
                 "more questions, or another prm.held_out"});
}

LatentData divided(const fs::path& path, const PrmSettings& settings) {
  LatentNodes all = read_latent_nodes(path, settings);
  if (settings.shuffles_labels) shuffle(settings.seed, all);
  LatentData data;
  for (std::int64_t node = 0; node < all.size(); ++node) {
    const std::string question = std::to_string(all.questions[static_cast<std::size_t>(node)]);
    const bool is_held_out =
        settings.held_out > 0.0 && holds_out({settings.seed, settings.held_out}, question);
    append_node(all, node, is_held_out ? data.held_out : data.training);
  }
  if (data.training.size() == 0) refuse_lack(path, "to train on");
  if (settings.held_out > 0.0 && data.held_out.size() == 0) refuse_lack(path, "to measure");
  const bool has_pairs = settings.kind == PrmLossKind::pairwise && settings.held_out > 0.0;
  if (has_pairs) required_pairs(data.held_out, "held-out question");
  return data;
}

void share(const cluster::Group& world, LatentNodes& nodes) {
  world.broadcast(std::span<std::int64_t>(&nodes.width, 1), 0);
  cluster::broadcast_list(world, nodes.states);
  cluster::broadcast_list(world, nodes.labels);
  cluster::broadcast_list(world, nodes.questions);
}

}  // namespace

std::vector<NodePair> node_pairs(const LatentNodes& nodes) {
  std::vector<NodePair> pairs;
  for (std::int64_t begin = 0; begin < nodes.size();) {
    std::vector<std::int64_t> members;
    const std::int64_t question = nodes.questions[static_cast<std::size_t>(begin)];
    for (std::int64_t node = begin;
         node < nodes.size() && nodes.questions[static_cast<std::size_t>(node)] == question; ++node)
      members.push_back(node);
    begin += std::ssize(members);
    const auto label = [&](std::int64_t node) {
      return nodes.labels[static_cast<std::size_t>(node)];
    };
    std::ranges::stable_sort(members, std::greater(), label);
    for (std::size_t i = 0; i < members.size() / 2; ++i) {
      const std::int64_t worse = members[members.size() - 1 - i];
      if (label(members[i]) > label(worse)) pairs.emplace_back(members[i], worse);
    }
  }
  return pairs;
}

std::vector<NodePair> required_pairs(const LatentNodes& nodes, const std::string& what) {
  std::vector<NodePair> pairs = node_pairs(nodes);
  if (!pairs.empty()) return pairs;
  throw Failure(
      {"E531",
       ExitCode::data,
       "no " + what + " has two nodes with different labels, which prm.loss=pairwise compares",
       {},
       "more questions, another prm.held_out, or prm.loss=bce"});
}

LatentNodes read_latent_nodes(const fs::path& path, const PrmSettings& settings) {
  const NodeColumns columns(path);
  LatentNodes nodes;
  nodes.width = columns.states.spec().width;
  try {
    for (std::int64_t row = 0; row < columns.steps.rows(); ++row)
      add_row(columns, row, settings.learns_values, nodes);
  } catch (const Failure&) {
    throw;
  } catch (const Error&) {
    throw no_latents(path, "the latent states of the file do not fit its nodes");
  }
  return nodes;
}

LatentData load_latent_data(const cluster::Group& world, const fs::path& path,
                            const PrmSettings& settings) {
  LatentData data;
  cluster::run_together(world, [&] {
    if (world.rank() == 0) data = divided(path, settings);
  });
  share(world, data.training);
  share(world, data.held_out);
  data.crc = crc32c(std::as_bytes(std::span(data.training.states))) ^
             crc32c(std::as_bytes(std::span(data.training.labels)));
  return data;
}

std::int64_t latent_width(const fs::path& path) {
  return open_states(path).spec().width;
}

std::string description(const LatentNodes& nodes, double threshold) {
  const std::set<std::int64_t> questions(nodes.questions.begin(), nodes.questions.end());
  const auto right =
      std::ranges::count_if(nodes.labels, [&](double label) { return label > threshold; });
  return report::counted(nodes.size(), "node") + " of " +
         report::counted(std::ssize(questions), "question") + ", " +
         report::percent(static_cast<double>(right) / static_cast<double>(nodes.size())) + " right";
}

}  // namespace mgpu::recipes
