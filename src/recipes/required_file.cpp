#include "required_file.hpp"

#include <mgpu/base/missing_file.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::recipes {

void require_file(const Config& config, const char* key, const std::filesystem::path& path,
                  const std::string& help) {
  if (const auto missing = missing_file(path))
    throw ConfigFailure({{"E603", *missing, config.place(key), "", help}}, ExitCode::no_input);
}

void require_tokenizer(const Config& config, const char* key, const std::filesystem::path& folder) {
  if (text::has_tokenizer(folder)) return;
  require_file(config, key, folder / "tokenizer.json", rows::conversion_help(folder));
}

}  // namespace mgpu::recipes
