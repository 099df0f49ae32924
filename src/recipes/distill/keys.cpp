#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <mgpu/config/check_all.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/run/chunk_keys.hpp>

#include "recipes/lm/keys.hpp"

namespace mgpu::recipes {
namespace {

constexpr double kBeta = 0.5;
constexpr std::array<std::string_view, 4> kDrawingKeys = {"distill.max_new_tokens",
                                                          "distill.sampling_temperature",
                                                          "distill.top_p", "distill.batch_size"};
constexpr const char* kNoTeacher =
    "distill.targets=PATH of a run of job teacher, or distill.model=FOLDER of a language model";

lm::Divergence divergence_of(const Config& config) {
  return config.is("distill.loss", "forward_kl")   ? lm::Divergence::forward_kl
         : config.is("distill.loss", "reverse_kl") ? lm::Divergence::reverse_kl
                                                   : lm::Divergence::jsd;
}

void refuse(const Config& config, const char* name, const std::string& why,
            const std::string& help) {
  throw config.problem("E124", name, std::string("`") + name + "` " + why, help);
}

/// Refuses keys distill.* that differ from their defaults, in a configuration without a teacher.
void require_teacher(const Config& config) {
  for (const std::string& name : config.not_default()) {
    if (!name.starts_with("distill.")) continue;
    const bool draws =
        name == "distill.on_policy" || std::ranges::find(kDrawingKeys, name) != kDrawingKeys.end();
    refuse(config, name.c_str(), "has no meaning without a teacher",
           draws ? "distill.model=FOLDER of a language model" : kNoTeacher);
  }
}

void check_teacher(const Config& config) {
  if (config.is("distill.targets", "null") || config.is("distill.model", "null")) return;
  refuse(config, "distill.model", "and `distill.targets` both name a teacher",
         "remove one of them");
}

/// Refuses keys that have no effect with the chosen loss and targets. Also refuses
/// distill.tail=renormalize with reverse KL, because the divergence would be infinite.
void check_loss(const Config& config) {
  if (config.number("distill.beta") != kBeta && !config.is("distill.loss", "jsd"))
    refuse(config, "distill.beta", "means something with distill.loss=jsd only",
           "distill.loss=jsd");
  if (!config.is("distill.tail", "bucket") && config.is("distill.targets", "null"))
    refuse(config, "distill.tail", "is about stored targets: a model has no tail",
           "remove distill.tail");
  if (config.is("distill.loss", "reverse_kl") && config.is("distill.tail", "renormalize"))
    refuse(config, "distill.tail",
           "=renormalize leaves tokens without probability, where reverse_kl is infinite",
           "distill.tail=bucket");
}

/// Checks distill.on_policy. If it is 0, keys of sampling (kDrawingKeys) that differ from their
/// defaults are refused. If it is above 0, the student samples completions. In this case, the
/// teacher must be a model, because stored targets do not cover new completions, and
/// distill.ce_weight must be below 1. Also, a built-in data set must have prompts
/// (DistillMethod::encode() checks rows of files).
void check_on_policy(const Config& config) {
  constexpr const char* kKey = "distill.on_policy";
  if (config.number(kKey) == 0.0) {
    for (const std::string& name : config.not_default())
      if (std::find(kDrawingKeys.begin(), kDrawingKeys.end(), name) != kDrawingKeys.end())
        refuse(config, name.c_str(), "means something with distill.on_policy above 0 only",
               "distill.on_policy=0.5");
    return;
  }
  if (!config.is("distill.targets", "null"))
    refuse(config, kKey, "makes texts that stored targets say nothing of",
           "distill.model=FOLDER of the teacher instead of distill.targets");
  const datasets::DatasetEntry* dataset = datasets::dataset_of(config);
  if (dataset != nullptr && !dataset->has_prompts)
    refuse(
        config, kKey,
        "completes prompts, and data set " + std::string(dataset->name) + " has rows without one",
        "data.path=FILE.jsonl with `prompt` and `completion`, or `messages`");
  if (config.number("distill.ce_weight") == 1.0)
    refuse(config, kKey, "makes texts of which nothing is learned with distill.ce_weight=1",
           "distill.ce_weight=0.5");
}

/// Refuses data.path and the choice of a data set together with stored targets, because the file of
/// distill.targets also has the examples.
void check_data(const Config& config) {
  if (config.is("distill.targets", "null")) return;
  if (!config.is("data.path", "null"))
    refuse(config, "data.path",
           "has no meaning together with `distill.targets`, which has the tokens, too",
           "remove data.path");
  if (datasets::dataset_of(config) == nullptr) return;
  const std::string key = datasets::key_of_dataset(config);
  refuse(config, key.c_str(),
         "has no meaning together with `distill.targets`, which has the tokens, too",
         "remove " + key);
}

void add_on_policy_keys(KeyTable& table) {
  table.add({.name = "distill.on_policy",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary =
                 "share of the completions that the student samples with its current weights; "
                 "it learns the distribution of distill.model on them",
             .min = 0,
             .max = 1,
             .foreign = {{"lmbda", "TRL"}}});
  table.add({.name = "distill.max_new_tokens",
             .type = KeyType::integer,
             .default_value = "128",
             .summary = "length of a completion that the student draws, at most; with its prompt "
                        "never more than train.seq_len",
             .unit = "tokens",
             .min = 1,
             .max = 1 << 20,
             .foreign = {{.name = "max_new_tokens",
                          .program = "TRL",
                          .help = "here a student draws `distill.max_new_tokens`, and job generate "
                                  "`generate.max_new_tokens`",
                          .top_level_only = true}}});
  table.add(
      {.name = "distill.sampling_temperature",
       .type = KeyType::number,
       .default_value = "1.0",
       .summary = "divides the student's logits where it draws",
       .min = 1e-4,
       .max = 1e4,
       .foreign = {{.name = "temperature",
                    .program = "TRL",
                    .help = "here a student draws with `distill.sampling_temperature`, and job "
                            "generate with `generate.temperature`",
                    .top_level_only = true}}});
  table.add({.name = "distill.top_p",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "the student draws from the fewest tokens that have this much probability",
             .min = 1e-6,
             .max = 1});
  table.add({.name = "distill.batch_size",
             .type = KeyType::integer,
             .default_value = "16",
             .summary =
                 "completions of a rank's student that grow together; changes time and memory "
                 "only",
             .unit = "sequences",
             .min = 1,
             .max = 65536,
             .identity = false});
}

lm::GenerationConfig read_drawing(const Config& config) {
  lm::GenerationConfig drawing;
  drawing.sampling.is_greedy = false;
  drawing.sampling.temperature = config.number("distill.sampling_temperature");
  drawing.sampling.top_p = config.number("distill.top_p");
  drawing.sampling.seed = run::read_job_keys(config).seed;
  drawing.max_new_tokens = config.integer("distill.max_new_tokens");
  drawing.batch_size = config.integer("distill.batch_size");
  return drawing;
}

}  // namespace

void add_distill_keys(KeyTable& table) {
  table.add({.name = "distill.targets",
             .type = KeyType::path,
             .default_value = "null",
             .summary =
                 "results.h5 of job teacher, or its run directory: a language model is trained "
                 "on its tokens and the teacher's stored distributions",
             .choices = {"null"}});
  table.add(
      {.name = "distill.model",
       .type = KeyType::path,
       .default_value = "null",
       .summary = "Hugging Face folder, or name in the local cache, of a teacher next to "
                  "the student; each rank holds all of its weights, and its tokenizer must be "
                  "the student's",
       .choices = {"null"},
       .is_model = true,
       .foreign = {{"teacher_model_name_or_path", "TRL", "here it is `distill.model`, a folder"}}});
  table.add({.name = "distill.loss",
             .type = KeyType::choice,
             .default_value = "forward_kl",
             .summary = "distance of the student's distribution from the teacher's; targets that "
                        "were drawn have forward_kl only",
             .choices = {"forward_kl", "reverse_kl", "jsd"}});
  table.add({.name = "distill.beta",
             .type = KeyType::number,
             .default_value = "0.5",  // the value of kBeta
             .summary =
                 "jsd: the teacher's share of the mean distribution; small is like forward_kl, "
                 "large like reverse_kl",
             .min = 1e-3,
             .max = 0.999,
             .foreign = {{.name = "beta",
                          .program = "TRL",
                          .help = "here it is `distill.beta`, with `distill.loss: jsd`",
                          .top_level_only = true}}});
  table.add({.name = "distill.ce_weight",
             .type = KeyType::number,
             .default_value = "0.5",
             .summary = "weight w of the cross-entropy of the data: the loss is w CE + (1 - w) T^2 "
                        "distance from the teacher",
             .min = 0,
             .max = 1});
  table.add({.name = "distill.temperature",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "T, which divides the logits of both; stored targets with a tail and draws "
                        "have to be made with teacher.temperature=T",
             .min = 1e-2,
             .max = 1e2});
  table.add({.name = "distill.tail",
             .type = KeyType::choice,
             .default_value = "bucket",
             .summary =
                 "probability outside the teacher's top k: it becomes one extra class, or is "
                 "dropped by scaling the top k to sum 1",
             .choices = {"bucket", "renormalize"}});
  add_on_policy_keys(table);
  table.add_foreign({"seq_kd", "TRL",
                     "no such key here: train on completions that job generate made with the "
                     "teacher"});
}

bool has_distill_keys(const Config& config) {
  return std::ranges::any_of(config.not_default(),
                             [](const std::string& name) { return name.starts_with("distill."); });
}

void check_distill_keys(const Config& config) {
  if (config.is("distill.targets", "null") && config.is("distill.model", "null")) {
    require_teacher(config);
    return;
  }
  check_all({[&] { check_teacher(config); }, [&] { check_loss(config); },
             [&] { check_data(config); }, [&] { check_on_policy(config); }});
}

DistillSettings read_distill_settings(const Config& config) {
  DistillSettings settings;
  if (!config.is("distill.targets", "null")) {
    settings.targets = config.text("distill.targets");
    std::error_code error;
    if (std::filesystem::is_directory(settings.targets, error)) settings.targets /= "results.h5";
  } else {
    settings.model = config.text("distill.model");
  }
  settings.has_bucket = config.is("distill.tail", "bucket");
  settings.how.divergence = divergence_of(config);
  settings.how.beta = config.number("distill.beta");
  settings.how.ce_weight = config.number("distill.ce_weight");
  settings.how.temperature = config.number("distill.temperature");
  settings.on_policy = config.number("distill.on_policy");
  settings.drawing = read_drawing(config);
  return settings;
}

}  // namespace mgpu::recipes
