#pragma once

#include <cstdint>

#include <mgpu/lm/training/lm_windows.hpp>

// Facts about questions, which have several solutions: the examples of recipe prm.
namespace mgpu::recipes {

/// The text column with what solutions of the same question have in common.
inline constexpr const char* kQuestionTexts = "question";

/// Which questions are kept: those that are held out, or all others.
struct HeldOutPart {
  std::uint64_t seed = 0;
  double share = 0.0;  // of questions that are held out
  bool keeps_held_out = false;
};

/// Removes the examples of all other questions. Whether a question is held out depends on its text,
/// seed and share only.
void keep_questions(const HeldOutPart& part, lm::LmExamples& examples);

/// Replaces kQuestionTexts by kQuestionColumn, which numbers the questions in the order of their
/// first solutions, and adds kMostStepsColumn.
void number_questions(lm::LmExamples& examples);

/// Permutes the labels of the steps of each question at random.
void shuffle_labels(std::uint64_t seed, lm::LmExamples& examples);

/// Joins the examples to groups of two solutions of the same question. The solution of a
/// question with the highest mean label is joined with that with the lowest, and so on inwards.
/// Leaves out solutions without partner, and pairs whose steps all have the same label. The result
/// may be empty.
void join_solutions(lm::LmExamples& examples);

}  // namespace mgpu::recipes
