#include "distill_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "lm/forward/row_ops.hpp"

// A divergence is a sum of f(p_c, q_c) over classes c, with the probabilities p of the teacher and
// q of the student. A class is one token, or the class r of all tokens that the teacher's list
// lacks. Let s_c = q_c df/dq_c and S = sum s_c. T is the temperature. The gradient with respect to
// logit_v / T is s_v - q_v S if token v is a class. If v belongs to r, the gradient is q_v / q_r
// (s_r - q_r S).
//
// Shapes: n rows of a block, K ids in the longest of the rows' lists.
namespace mgpu::lm::grad {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log of 0

/// The terms of a divergence (see the top of this file). Each tensor has one value per element of p
/// and q.
struct Terms {
  at::Tensor losses;  // f(p, q)
  at::Tensor slopes;  // q df/dq
};

/// Returns mass * log_ratio, or 0 where mass is 0.
at::Tensor weighed(const at::Tensor& mass, const at::Tensor& log_ratio) {
  return (mass * log_ratio).masked_fill_(mass == 0, 0.0);
}

Terms terms_of(const Distillation& how, const at::Tensor& log_p, const at::Tensor& log_q) {
  const at::Tensor p = log_p.exp();
  const at::Tensor q = log_q.exp();
  switch (how.divergence) {
    case Divergence::forward_kl:
      return {weighed(p, log_p - log_q), -p};
    case Divergence::cross_entropy:
      return {weighed(p, -log_q), -p};
    case Divergence::reverse_kl: {
      at::Tensor losses = weighed(q, log_q - log_p);
      at::Tensor slopes = losses + q;
      return {std::move(losses), std::move(slopes)};
    }
    case Divergence::jsd:
      break;
  }
  const double b = how.beta;
  const at::Tensor log_m = at::logaddexp(log_p + std::log(b), log_q + std::log1p(-b));
  at::Tensor slopes = weighed(q, log_q - log_m).mul_(1.0 - b);
  at::Tensor losses = weighed(p, log_p - log_m).mul_(b).add_(slopes);
  return {std::move(losses), std::move(slopes)};
}

at::Tensor log_sums_of(const std::vector<LogitsPiece>& pieces, double temperature) {
  at::Tensor sums;  // [n]
  for (const LogitsPiece& piece : pieces) {
    const at::Tensor here = (piece.logits / temperature).logsumexp(1);
    sums = sums.defined() ? at::logaddexp(sums, here) : here;
  }
  return sums;
}

/// Returns the three sums that a BlockLoss returns for a block: loss, number of correct
/// predictions, and cross-entropy. `data` is the result of RowFacts::sums(), with the cross-entropy
/// as the loss. `divergences` has either one divergence per row, or the terms of the row's
/// divergence in several columns.
at::Tensor total_of(const Distillation& how, const at::Tensor& data,
                    const at::Tensor& divergences) {
  const double share = (1.0 - how.ce_weight) * how.temperature * how.temperature;
  const at::Tensor loss = data[0] * how.ce_weight + divergences.sum(at::kDouble) * share;
  return at::stack({loss, data[1], data[2]});
}

/// The gradient of the loss with respect to a logit is a weighted sum of two gradients. The
/// gradient of the divergence has the weight `teacher`, the gradient of the cross-entropy the
/// weight `data`.
struct Shares {
  Shares(const Distillation& how, double scale)
      : teacher(scale * (1.0 - how.ce_weight) * how.temperature), data(scale * how.ce_weight) {}

  double teacher;  // has the factor T: T^2 of the loss times 1 / T, the derivative of logit / T
  double data;
};

/// The teacher's lists (TeacherTargets) for the rows of a block. Shorter lists are padded with id
/// -1 and log-probability -infinity.
struct PaddedLists {
  PaddedLists(const TeacherTargets& targets, const HeadBlock& block) {
    const std::span<const std::int64_t> tokens = block.tokens;
    const std::int64_t rows = std::ssize(tokens);
    std::int64_t longest = 0;
    for (const std::int64_t token : tokens)
      longest = std::max(longest, end(targets, token) - end(targets, token - 1));
    ids = at::full({rows, longest}, -1, at::kLong);
    at::Tensor logs = at::full({rows, longest + 1}, kNothing, at::kFloat);
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t token = tokens[static_cast<std::size_t>(n)];
      const std::int64_t begin = end(targets, token - 1);
      const std::int64_t stop = end(targets, token);
      std::copy(targets.ids.begin() + begin, targets.ids.begin() + stop,
                ids.mutable_data_ptr<std::int64_t>() + n * longest);
      float* log = logs.mutable_data_ptr<float>() + n * (longest + 1);
      std::copy(targets.log_probs.begin() + begin, targets.log_probs.begin() + stop, log);
      log[longest] = std::log(targets.tail_mass[static_cast<std::size_t>(token)]);
    }
    const at::Tensor& like = block.pieces.front().logits;
    ids = ids.to(like.device());
    log_probs = logs.to(like.options());
  }

  static std::int64_t end(const TeacherTargets& targets, std::int64_t token) {
    return token < 0 ? 0 : targets.ends[static_cast<std::size_t>(token)];
  }

  at::Tensor ids;        // [n, K]
  at::Tensor log_probs;  // [n, K + 1]; the last column is for all other ids together
};

/// For each id in the teacher's lists, the id's column in a piece of the logits. Ids outside the
/// piece get column 0, and `is_here` is false for them.
struct Listed {
  Listed(const LogitsPiece& piece, const at::Tensor& ids) {
    const at::Tensor at = ids - piece.first_id;
    is_here = (at >= 0).logical_and(at < piece.logits.size(1)).logical_and(ids >= 0);
    columns = at.masked_fill(is_here.logical_not(), 0);
  }

  /// Writes `values` [n, K] to `columns` of the piece's logits, except values of ids outside the
  /// piece. On a GPU, the function rewrites the whole piece. If the function wrote single elements
  /// there, the host would have to wait until the GPU has counted these elements.
  void write(const LogitsPiece& piece, const at::Tensor& values) const {
    at::Tensor logits = piece.logits;
    if (tensor::runs_on_gpu(logits)) {
      logits.copy_(written(logits, values));
      return;
    }
    const at::Tensor where = tensor::places_of_true(is_here);  // [ids in the piece, 2]
    const at::Tensor rows = where.select(1, 0);
    const at::Tensor entries = where.select(1, 1);
    logits.index_put_({rows, columns.index({rows, entries})}, values.index({rows, entries}));
  }

  at::Tensor is_here;  // [n, K] whether the id is in the piece
  at::Tensor columns;  // [n, K] columns of the piece; 0 for ids outside the piece

private:
  /// Returns a copy of the logits in which `values` replace those at `columns`. Ids
  /// outside the piece also have column 0, so several ids of a row may share this column. The
  /// values of ids outside the piece are set to -infinity, so the maximum per column is the value
  /// of the id in the piece.
  at::Tensor written(const at::Tensor& logits, const at::Tensor& values) const {
    const at::Tensor is_written = at::zeros(logits.sizes(), logits.options().dtype(at::kInt))
                                      .scatter_reduce(1, columns, is_here.to(at::kInt), "amax");
    const at::Tensor dense =
        at::full_like(logits, kNothing)
            .scatter_reduce(1, columns, values.masked_fill(is_here.logical_not(), kNothing),
                            "amax");
    return at::where(is_written > 0, dense, logits);
  }
};

/// Returns the logits [n, K] of the ids in the teacher's lists, and replaces these logits in the
/// pieces by -infinity. So log_sums_of() then covers only the tokens that are not in the lists.
at::Tensor take_listed(const HeadBlock& block, const at::Tensor& ids) {
  at::Tensor taken =
      at::full(ids.sizes(), kNothing, block.pieces.front().logits.options());  // [n, K]
  for (const LogitsPiece& piece : block.pieces) {
    const Listed listed(piece, ids);
    taken = at::where(listed.is_here, piece.logits.gather(1, listed.columns), taken);
    listed.write(piece, at::full_like(taken, kNothing));
  }
  return taken;
}

void put_listed(const HeadBlock& block, const at::Tensor& ids, const at::Tensor& values) {
  for (const LogitsPiece& piece : block.pieces)
    Listed(piece, ids).write(piece, values);
}

at::Tensor stored_block(const Distillation& how, const TeacherTargets& targets, HeadBlock& block,
                        std::optional<double> scale) {
  const double t = how.temperature;
  const RowFacts facts = facts_of(block);
  const PaddedLists lists(targets, block);
  const at::Tensor listed = take_listed(block, lists.ids);  // [n, K]
  const at::Tensor rest = log_sums_of(block.pieces, t);     // [n] logsumexp of tokens not listed
  const at::Tensor classes = at::cat({listed / t, rest.unsqueeze(1)}, 1);
  const at::Tensor log_q = classes - classes.logsumexp(1, true);  // [n, K + 1]
  const Terms terms = terms_of(how, lists.log_probs, log_q);
  if (scale) {
    const Shares shares(how, *scale);
    const std::int64_t k = listed.size(1);
    const at::Tensor grads =
        (terms.slopes - log_q.exp() * terms.slopes.sum(1, true)).mul_(shares.teacher);
    const at::Tensor of_rest = grads.narrow(1, k, 1);
    const at::Tensor shift = rest.masked_fill(rest == kNothing, 0.0).unsqueeze(1);
    const at::Tensor log_sums = facts.log_sums.unsqueeze(1);
    for (LogitsPiece& piece : block.pieces) {
      at::Tensor grad = (piece.logits / t).sub_(shift).exp_().mul_(of_rest);
      if (how.ce_weight > 0.0) grad.add_(piece.logits.sub(log_sums).exp_(), shares.data);
      piece.logits = grad;
    }
    put_listed(block, lists.ids, grads.narrow(1, 0, k) + (listed - log_sums).exp() * shares.data);
    if (how.ce_weight > 0.0) add_at_targets(block, -shares.data);
  }
  return total_of(how, facts.sums(block.targets), terms.losses);
}

/// Returns the teacher's logits for the rows of the block. The pieces have the type and the token
/// ids of the student's pieces (block.pieces), without ids that are not in both vocabularies.
std::vector<LogitsPiece> teacher_pieces(const LanguageModel& teacher, const at::Tensor& hidden,
                                        const HeadBlock& block) {
  const at::Tensor rows = hidden.index_select(0, block.token_index);
  std::vector<LogitsPiece> pieces;
  for (const LogitsPiece& piece : block.pieces) {
    const std::int64_t count =
        std::min(piece.logits.size(1), teacher.config().vocab - piece.first_id);
    if (count <= 0) break;
    const Linear part = part_of(teacher.weights().head, piece.first_id, count);
    pieces.push_back({project(rows, part).to(piece.logits.scalar_type()), 0, piece.first_id});
  }
  return pieces;
}

/// Returns views of the student's logits, cut to the shapes of the teacher's pieces.
std::vector<LogitsPiece> common_pieces(const HeadBlock& block,
                                       const std::vector<LogitsPiece>& teacher) {
  std::vector<LogitsPiece> pieces;
  for (std::size_t i = 0; i < teacher.size(); ++i) {
    const LogitsPiece& piece = block.pieces[i];
    pieces.push_back(
        {piece.logits.narrow(1, 0, teacher[i].logits.size(1)), piece.row, piece.first_id});
  }
  return pieces;
}

/// Returns a gradient, padded with columns of zeros to the `width` of the student's piece.
at::Tensor padded_to(const at::Tensor& gradient, std::int64_t width) {
  const std::int64_t missing = width - gradient.size(1);
  return missing == 0 ? gradient : at::constant_pad_nd(gradient, {0, missing});
}

/// Returns the weight [n] of the cross-entropy of each row: 0 if the student sampled the row's
/// target, else 1. If `is_drawn` is empty, returns an undefined tensor, which means that all
/// weights are 1.
at::Tensor weights_of_data(std::span<const double> is_drawn, const HeadBlock& block) {
  if (is_drawn.empty()) return {};
  std::vector<float> weights;
  for (const std::int64_t token : block.tokens)
    weights.push_back(is_drawn[static_cast<std::size_t>(token)] != 0.0 ? 0.0F : 1.0F);
  return at::tensor(weights, at::kFloat).to(block.pieces.front().logits.options());
}

at::Tensor resident_block(const Distillation& how, const TeacherPass& teacher, HeadBlock& block,
                          std::optional<double> scale) {
  const double t = how.temperature;
  const RowFacts facts = facts_of(block);
  const at::Tensor of_data = weights_of_data(teacher.is_drawn, block);
  std::vector<LogitsPiece> slopes = teacher_pieces(teacher.model, teacher.hidden, block);
  const std::vector<LogitsPiece> common = common_pieces(block, slopes);
  const at::Tensor sums_p = log_sums_of(slopes, t).unsqueeze(1);
  const at::Tensor sums_q = log_sums_of(common, t).unsqueeze(1);
  at::Tensor divergences = at::zeros_like(facts.log_sums);  // [n]
  at::Tensor total = at::zeros_like(sums_q);                // [n, 1] sums of slopes
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    Terms terms = terms_of(how, slopes[i].logits / t - sums_p, common[i].logits / t - sums_q);
    divergences.add_(terms.losses.sum(1));
    total.add_(terms.slopes.sum(1, true));
    slopes[i].logits = std::move(terms.slopes);  // replaces the teacher's logits
  }
  if (scale) {
    const Shares shares(how, *scale);
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
      at::Tensor& logits = block.pieces[i].logits;
      at::Tensor grad =
          i < slopes.size()
              ? slopes[i].logits - (common[i].logits / t).sub_(sums_q).exp_().mul_(total)
              : at::zeros_like(logits);
      grad = padded_to(grad.mul_(shares.teacher), logits.size(1));
      if (how.ce_weight > 0.0) {
        const at::Tensor probs = logits.sub(facts.log_sums.unsqueeze(1)).exp_();
        if (of_data.defined()) probs.mul_(of_data.unsqueeze(1));
        grad.add_(probs, shares.data);
      }
      logits = std::move(grad);
    }
    if (how.ce_weight > 0.0) add_at_targets(block, -shares.data, of_data);
  }
  return total_of(how, facts.sums(block.targets, of_data), divergences);
}

}  // namespace

BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets) {
  return [&how, &targets](HeadBlock& block, std::optional<double> scale) {
    return stored_block(how, targets, block, scale);
  };
}

BlockLoss resident_loss(const Distillation& how, const TeacherPass& teacher) {
  return [&how, teacher](HeadBlock& block, std::optional<double> scale) {
    return resident_block(how, teacher, block, scale);
  };
}

}  // namespace mgpu::lm::grad
