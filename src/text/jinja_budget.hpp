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
/// Errors: std::runtime_error if an expression may have more than 300 nested operations, or if more
///         than 200 blocks are nested.
void check_nesting(const std::vector<jinja::token>& tokens);

/// The limits of one rendering of a chat template. Templates come with downloaded models, and a
/// template may loop forever, call itself, or double a text again and again. A budget consists of a
/// number of steps, which measure time, and a number of bytes. The nodes of jinja_nodes.hpp take
/// steps and bytes from the budget of their thread. All functions that take from the budget or
/// check a size throw std::runtime_error when a limit is reached.
class RenderBudget {
public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;  // bytes of all texts that are read
  static constexpr std::size_t kTextBytes = std::size_t{16} << 20;  // bytes of one text
  static constexpr std::size_t kListItems = 100'000;                // items of one list
  static constexpr int kCallDepth = 100;                            // nested calls
  static constexpr int kValueDepth = 64;                            // nested lists and objects

  /// Makes this object the budget of the thread until the object is destroyed. `names` is an upper
  /// bound on the number of variables of the template. A scope costs more steps if `names` is
  /// larger, because the interpreter copies all variables for each scope.
  RenderBudget(std::size_t names, std::size_t max_steps);
  RenderBudget(const RenderBudget&) = delete;
  RenderBudget& operator=(const RenderBudget&) = delete;
  RenderBudget(RenderBudget&&) = delete;
  RenderBudget& operator=(RenderBudget&&) = delete;
  ~RenderBudget();

  /// Returns the budget of this thread. Errors: std::logic_error if the thread has no budget.
  static RenderBudget& of_thread();

  /// Returns whether a limit was reached. The type of a caught exception does not show this,
  /// because the interpreter replaces exceptions by its own.
  bool is_spent() const { return is_spent_; }
  void set_spent() { is_spent_ = true; }

  /// Takes `steps` steps from the budget. A step stands for about a microsecond.
  void take_steps(std::size_t steps);
  void take_scopes(std::size_t scopes) { take_steps(scopes * steps_per_scope_); }
  void take_bytes(std::size_t bytes);

  /// Takes one step for a read of `value`. If `value` is a text, also checks its size, and takes
  /// its bytes and 64 bytes for each part of its jinja::string.
  void take(const jinja::value& value);

  /// Calls take(). If `value` is a list or object, also takes a step for each item, but not for
  /// items inside items. If `value` is a list, also checks its size.
  void take_items(const jinja::value& value);

  /// Takes a step for `value` and for each value inside it, at any depth, and the bytes of all
  /// texts. Refuses values that are nested deeper than kValueDepth.
  void take_deep(const jinja::value& value);

  /// The functions check_text() and check_list() check the size of a text or list before the
  /// interpreter makes it.
  static void check_text(std::size_t bytes);
  static void check_list(std::size_t items);

  /// Takes the bytes that a search for `part` in `whole` reads. Returns the number of occurrences
  /// of `part` that do not overlap. An empty `part` occurs once before each byte and once at the
  /// end.
  std::size_t take_search(std::string_view whole, std::string_view part);

  /// A call in the template: increases the nesting depth of calls while the object exists.
  class Call {
  public:
    Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = delete;
    Call& operator=(Call&&) = delete;
    ~Call();
  };

  /// Records a namespace, the only kind of Jinja value that can change after it is made. Callers
  /// refuse a namespace inside another one, so that no value contains itself.
  void add_namespace(const jinja::value& value);
  bool is_namespace(const jinja::value& value) const;
  /// Returns whether `value` is a namespace, or contains one at any depth.
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
