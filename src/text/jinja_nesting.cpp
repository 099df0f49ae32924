#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "jinja_budget.hpp"

namespace mgpu::text {
namespace {

using jinja::token;

constexpr int kExpressionDepth = 300;
constexpr int kBlockDepth = 200;

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Computes an upper bound on the depth of an expression's tree from the tokens of the expression.
/// Each open bracket counts as one level. Within a bracket, the operations since the last comma may
/// all be nested, so each of these operations counts as one level.
class ExpressionDepth {
public:
  void begin() { chains_.assign(1, 0); }

  void add(const token& next) {
    switch (next.t) {
      case token::open_paren:
      case token::open_square_bracket:
      case token::open_curly_bracket:
        chains_.push_back(0);
        break;
      case token::close_paren:
      case token::close_square_bracket:
      case token::close_curly_bracket:
        if (chains_.size() > 1) chains_.pop_back();
        ++chains_.back();  // counts each call and each index, as in f()() and x[0][0]
        break;
      case token::comma:
        chains_.back() = 0;
        break;
      case token::identifier:
        if (is_one_of(next.value, {"not", "and", "or", "in", "is", "if", "else"})) ++chains_.back();
        break;
      case token::dot:
      case token::pipe:
      case token::additive_binary_operator:
      case token::multiplicative_binary_operator:
      case token::comparison_binary_operator:
      case token::unary_operator:
        ++chains_.back();
        break;
      default:
        break;
    }
    check();
  }

private:
  void check() const {
    int depth = static_cast<int>(chains_.size());
    for (const int chain : chains_)
      depth += chain;
    if (depth > kExpressionDepth)
      throw std::runtime_error("an expression has more than " + std::to_string(kExpressionDepth) +
                               " nested operations");
  }

  std::vector<int> chains_ = {0};  // operations outside brackets, then inside each open bracket
};

/// Counts how deep the current block is nested. An `elif` counts as a block inside the `if` or
/// `elif` before it.
class BlockDepth {
public:
  void begin_tag(const std::string& name) {
    if (is_one_of(name, {"if", "for", "macro", "call", "filter", "set"})) {
      blocks_.push_back(1);
      ++depth_;
    } else if (name == "elif" && !blocks_.empty()) {
      ++blocks_.back();
      ++depth_;
    } else if (name.starts_with("end")) {
      end_block();
    }
    if (depth_ > kBlockDepth)
      throw std::runtime_error("it has more than " + std::to_string(kBlockDepth) +
                               " nested blocks");
  }

  void end_block() {
    if (blocks_.empty()) return;
    depth_ -= blocks_.back();
    blocks_.pop_back();
  }

private:
  std::vector<int> blocks_;  // levels of each open block: 1, plus the number of its `elif` so far
  int depth_ = 0;
};

}  // namespace

void check_nesting(const std::vector<token>& tokens) {
  ExpressionDepth expression;
  BlockDepth blocks;
  bool is_set = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const token& next = tokens[i];
    if (next.t == token::open_statement || next.t == token::open_expression) {
      expression.begin();
      is_set = false;
    } else if (i > 0 && tokens[i - 1].t == token::open_statement) {
      is_set = next.value == "set";
      if (next.value != "endgeneration") blocks.begin_tag(next.value);
    } else if (is_set && next.t == token::equals) {
      blocks.end_block();  // {% set x = ... %} has no body
      is_set = false;
    }
    expression.add(next);
  }
}

}  // namespace mgpu::text
