#include <array>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/model_folder.hpp>
#include <mgpu/jobs/phases.hpp>

namespace mgpu::jobs {
namespace {

using text::TextFiles;

constexpr std::array kTextFiles = {
    &TextFiles::tokenizer,    &TextFiles::tokenizer_config, &TextFiles::special_tokens_map,
    &TextFiles::added_tokens, &TextFiles::config,           &TextFiles::generation_config,
    &TextFiles::chat_template};

void share(const cluster::Group& world, std::string& text) {
  text = world.broadcast(std::move(text), 0);
}

void share(const cluster::Group& world, GenerateFiles& files) {
  share(world, files.prompts);
  if (world.broadcast(files.text ? "yes" : "no", 0) == "yes") {
    if (!files.text) files.text.emplace();
    for (const auto member : kTextFiles)
      share(world, (*files.text).*member);
  }
  std::string fingerprint = std::to_string(files.fingerprint);
  share(world, fingerprint);
  files.fingerprint = static_cast<std::uint32_t>(std::stoul(fingerprint));
}

/// Completions of other groups are others.
std::uint32_t crc_of_groups(const Config& config, std::uint32_t crc) {
  const int ranks = summing_ranks(config);
  return ranks == 1 ? crc : crc32c("tensor " + std::to_string(ranks), crc);
}

}  // namespace

GenerateFiles read_generate_files(const Config& config) {
  const std::filesystem::path folder = config.text("model.path");
  return {read_file(config.text("data.path")), read_prompt_files(folder),
          model_fingerprint(folder)};
}

PromptEncoder GenerateInputs::encoder() const {
  PromptEncoder::Options options = config.prompt;
  options.vocab = model.vocab;
  return {text, config.model, options};
}

GenerateInputs parse_generate_files(const Config& config, GenerateFiles files) {
  GenerateInputs inputs;
  inputs.model = language::read_lm_config(config.text("model.path"));
  inputs.config = read_generate_config(config, inputs.model.generation);
  store::LineProblems problems(inputs.config.prompts);
  inputs.rows = parse_prompt_rows(files.prompts, problems);
  problems.throw_if_any();
  inputs.text = std::move(files.text);
  inputs.phase = generation_phase(crc_of_groups(config, crc32c(files.prompts, files.fingerprint)));
  return inputs;
}

GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config) {
  GenerateFiles files;
  cluster::run_together(world, [&] {
    if (world.rank() == 0) files = read_generate_files(config);
  });
  share(world, files);
  GenerateInputs inputs;
  cluster::run_together(world, [&] { inputs = parse_generate_files(config, std::move(files)); });
  return inputs;
}

}  // namespace mgpu::jobs
