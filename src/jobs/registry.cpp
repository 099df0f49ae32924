#include <algorithm>
#include <array>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/model_text.hpp>

#include "jobs/classify/error_pages.hpp"
#include "jobs/classify/export.hpp"
#include "jobs/classify/job.hpp"
#include "jobs/classify/keys.hpp"
#include "jobs/generate/job.hpp"
#include "jobs/generate/keys.hpp"
#include "jobs/generate/plan.hpp"
#include "jobs/teacher/export.hpp"
#include "jobs/teacher/job.hpp"
#include "jobs/teacher/keys.hpp"
#include "jobs/train/error_pages.hpp"
#include "jobs/train/job.hpp"

namespace mgpu::jobs {
namespace {

const std::array<Job, 4>& table() {
  static const std::array kTable = {
      Job{.name = "train",
          .text = "Algorithm Distillation, or a language model on texts",
          .keys = train_job_keys(),
          .check = check_train_job,
          .check_files = check_train_files,
          .file_checks = train_file_checks,
          .disk_bytes = train_disk_bytes,
          .plan = plan_train,
          .run = run_train_job,
          .merge = merge_train_job,
          .errors = kTrainErrors},
      Job{.name = "generate",
          .text = "completions and log-probabilities of prompts by a language model",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, rows::add_chat_template_key, rows::add_keep_columns_key,
                   add_generate_keys},
          .check = check_generate_job,
          .check_files = check_generate_files,
          .file_checks = generate_file_checks,
          .disk_bytes = generate_disk_bytes,
          .plan = plan_generate,
          .run = run_generate_job,
          .merge = merge_generate_job,
          .upgrade_chunks = upgrade_generate_chunks,
          .has_parts = true},
      Job{.name = "teacher",
          .text = "next-token distributions of a language model for texts, for distillation",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, rows::add_chat_template_key, rows::add_keep_columns_key,
                   rows::add_length_keys, add_teacher_keys},
          .check = check_teacher_job,
          .check_files = check_teacher_files,
          .file_checks = teacher_file_checks,
          .disk_bytes = teacher_disk_bytes,
          .plan = plan_teacher,
          .run = run_teacher_job,
          .merge = merge_teacher_job,
          .upgrade_chunks = upgrade_teacher_chunks,
          .exports = {{"padded-h5", "guide004", "teacher_logits.h5", export_padded_targets}},
          .has_parts = true},
      Job{.name = "classify",
          .text = "labels of texts by a language model, and how good they are",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, rows::add_chat_template_key, rows::add_keep_columns_key,
                   rows::add_length_keys, add_classify_keys},
          .check = check_classify_job,
          .check_files = check_classify_files,
          .file_checks = classify_file_checks,
          .disk_bytes = classify_disk_bytes,
          .plan = plan_classify,
          .run = run_classify_job,
          .merge = merge_classify_job,
          .upgrade_chunks = upgrade_classify_chunks,
          .errors = kClassifyErrors,
          .exports = {{"csv", "", "", export_labels}},
          .has_parts = true}};
  return kTable;
}

/// Records that the job reads the keys of a group.
void note_reader(const Job& job, AddKeys add_keys, KeyTable& table_of_keys) {
  KeyTable group;
  add_keys(group);
  for (const KeySpec& key : group.keys())
    table_of_keys.add_reader(key.name, std::string(job.name));
}

}  // namespace

std::span<const Job> jobs() {
  return table();
}

const Job& job_of(const Config& config) {
  const auto* found = std::find_if(table().begin(), table().end(),
                                   [&](const Job& job) { return config.is("job", job.name); });
  if (found == table().end()) throw Error("a job of the key table is not in the table of jobs");
  return *found;
}

void add_job_keys(KeyTable& table_of_keys) {
  std::vector<AddKeys> added;
  for (const Job& job : table()) {
    for (const AddKeys add_keys : job.keys) {
      if (std::find(added.begin(), added.end(), add_keys) == added.end()) {
        add_keys(table_of_keys);
        added.push_back(add_keys);
      }
      note_reader(job, add_keys, table_of_keys);
    }
  }
}

std::vector<std::string> notes_for_job(const Config& config) {
  const Job& job = job_of(config);
  std::vector<std::string> notes = config.notes();
  for (const std::string& name : config.not_default())
    if (!config.table().find(name)->is_read_by(job.name))
      notes.push_back("job " + std::string(job.name) + " does not read " + name);
  return notes;
}

}  // namespace mgpu::jobs
