#include <algorithm>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/model_folder.hpp>
#include <mgpu/jobs/model_text.hpp>
#include <mgpu/jobs/phases.hpp>

namespace mgpu::jobs {

GenerateFiles read_generate_files(const Config& config) {
  const std::filesystem::path folder = config.text("model.path");
  return {read_file(config.text("data.path")), read_model_text(folder), model_fingerprint(folder)};
}

PromptEncoder GenerateInputs::encoder() const {
  PromptEncoder::Options options = config.prompt;
  options.vocab = model.vocab;
  return {text, config.model, options};
}

language::MemoryDemand GenerateInputs::demand(std::int64_t chunk_rows,
                                              std::int64_t longest_prompt) const {
  const language::GenerationConfig& generation = config.generation;
  const std::int64_t most = std::min(chunk_rows, prompts()) * config.num_samples;
  const bool is_auto = config.has_auto_batch;
  language::MemoryDemand demand;
  demand.batch_size = is_auto ? most : std::min(generation.batch_size, most);
  demand.longest = longest_prompt + std::max<std::int64_t>(0, generation.max_new_tokens - 1);
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.has_samples = config.num_samples > 1;
  demand.is_scoring = generation.max_new_tokens == 0;
  return demand;
}

GenerateInputs parse_generate_files(const Config& config, GenerateFiles files) {
  GenerateInputs inputs;
  inputs.model = language::read_lm_config(config.text("model.path"));
  inputs.config = read_generate_config(config, inputs.model.generation);
  store::LineProblems problems(inputs.config.prompts);
  inputs.rows = parse_prompt_rows(files.prompts, problems);
  problems.throw_if_any();
  inputs.text = std::move(files.text);
  inputs.phase =
      generation_phase(crc_with_groups(config, crc32c(files.prompts, files.fingerprint)));
  return inputs;
}

GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config) {
  GenerateFiles files;
  cluster::run_together(world, [&] {
    if (world.rank() == 0) files = read_generate_files(config);
  });
  files.prompts = world.broadcast(std::move(files.prompts), 0);
  share_model_text(world, files.text);
  world.broadcast(std::span(&files.fingerprint, 1), 0);
  GenerateInputs inputs;
  cluster::run_together(world, [&] { inputs = parse_generate_files(config, std::move(files)); });
  return inputs;
}

}  // namespace mgpu::jobs
