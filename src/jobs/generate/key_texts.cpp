#include <string>
#include <vector>

#include <mgpu/report/text_format.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

std::string unused_note(const GenerateConfig& config, const lm::GenerationDefaults& folder) {
  if (config.generation.max_new_tokens == 0) return "";
  std::vector<std::string> keys = folder.unused;
  if (!config.generation.sampling.is_greedy)
    keys.insert(keys.end(), folder.unused_in_draws.begin(), folder.unused_in_draws.end());
  std::string text;
  for (const std::string& key : keys)
    text +=
        (text.empty() ? "left out, for there is nothing like it here: the folder's " : ", ") + key;
  return text;
}

std::string sampling_text(const GenerateKeys& keys, const GenerateConfig& generate) {
  const lm::SamplingConfig& sampling = generate.generation.sampling;
  if (generate.generation.max_new_tokens == 0) return "scoring only";
  std::string text = "greedy";
  if (!sampling.is_greedy) {
    const bool is_implied = !keys.do_sample && keys.asks_for_draws();
    text = report::text_of("sampling%s, temperature %g, top k %lld, top p %g",
                           is_implied ? (" because of " + keys.draw_keys()).c_str() : "",
                           sampling.temperature, static_cast<long long>(sampling.top_k),
                           sampling.top_p);
  }
  if (generate.first_greedy) text += "; the first completion of each prompt is greedy";
  if (sampling.repetition_penalty != 1.0)
    text += report::text_of(", repetition penalty %g", sampling.repetition_penalty);
  if (keys.has_folder_values()) text += " (what is not given is the folder's)";
  if (keys.guide) text += "; " + guide_text(*keys.guide);
  return keys.search ? text + "; " + search_text(*keys.search) : text;
}

}  // namespace mgpu::jobs
