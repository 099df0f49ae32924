#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include <jinja/lexer.h>
#include <jinja/runtime.h>

namespace mgpu::text {

/// Refuses a template whose syntax tree would be too deep for the recursive parser.
///
/// Errors: std::runtime_error beyond 300 nested operations in an expression, or 200 nested blocks.
void check_nesting(const std::vector<jinja::token>& tokens);

/// The limits of one rendering. Chat templates come with downloaded models. A template may loop for
/// ever, call itself, or double a text again and again. The nodes of jinja_nodes.hpp take from the
/// budget of their thread, and throw std::runtime_error when it is spent.
class RenderBudget {
public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;  // bytes of all texts that are read
  static constexpr std::size_t kTextBytes = std::size_t{16} << 20;  // bytes of one text
  static constexpr std::size_t kListItems = 100'000;
  static constexpr int kCallDepth = 100;
  static constexpr int kValueDepth = 64;

  /// Makes this object the budget of the thread until the object is destroyed. `names` is the
  /// number of variables that the template may have. This number determines the cost of a scope,
  /// because the interpreter copies all variables for each scope.
  RenderBudget(std::size_t names, std::size_t max_steps);
  RenderBudget(const RenderBudget&) = delete;
  RenderBudget& operator=(const RenderBudget&) = delete;
  RenderBudget(RenderBudget&&) = delete;
  RenderBudget& operator=(RenderBudget&&) = delete;
  ~RenderBudget();

  static RenderBudget& of_thread();

  /// Returns whether a limit was reached. The exception does not show it, because the interpreter
  /// replaces the exception's type.
  bool is_spent() const { return is_spent_; }
  void set_spent() { is_spent_ = true; }

  /// Takes `steps` steps from the budget. A step stands for about a microsecond.
  void take_steps(std::size_t steps);
  void take_scopes(std::size_t scopes) { take_steps(scopes * steps_per_scope_); }
  void take_bytes(std::size_t bytes);

  /// Takes one step for a read of `value`. For a text, also checks its size, and takes its bytes.
  void take(const jinja::value& value);

  /// Calls take(), and takes a step for each item of a list or object, but not for items inside
  /// items.
  void take_items(const jinja::value& value);

  /// Takes a step from the budget for each value inside `value`, at any depth.
  void take_deep(const jinja::value& value);

  /// Checks the sizes of a result before the interpreter computes it.
  static void check_text(std::size_t bytes);
  static void check_list(std::size_t items);

  /// Takes the cost of a search for `part` in `whole`. Returns how often `part` occurs.
  std::size_t take_search(std::string_view whole, std::string_view part);

  /// Increases the nesting depth of calls in the template while the object exists.
  class Call {
  public:
    Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = delete;
    Call& operator=(Call&&) = delete;
    ~Call();
  };

  /// Records a namespace, the only kind of Jinja value that can change after it is made. No
  /// namespace may be inside another one, so values have no cycles.
  void add_namespace(const jinja::value& value);
  bool is_namespace(const jinja::value& value) const;
  bool holds_namespace(const jinja::value& value) const;

private:
  void take_deep(const jinja::value& value, int depth);

  RenderBudget* before_;
  std::size_t max_steps_, steps_, bytes_ = kBytes;
  std::size_t steps_per_scope_;
  int calls_ = 0;
  bool is_spent_ = false;
  std::set<jinja::value> namespaces_;
};

/// Throws std::runtime_error when little of the thread's stack is left.
void check_stack();

}  // namespace mgpu::text
