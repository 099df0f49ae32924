#include "page_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <mgpu/app/build_info.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/base/secrets.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::app {

report::Table settings_table(const Config& config, const NamedTexts& found) {
  report::Table table{"What was set", {"key", "value", "set by"}, {}, {}, true, true};
  std::vector<std::string> names = config.not_default();
  for (const char* name : {"run.seed", "data.path", "model.path"}) {
    const bool is_read = config.table().find(name)->is_read_by(read_job_name(config));
    const bool is_new = std::ranges::find(names, name) == names.end();
    if (is_read && is_new && config.shown(name) != "null") names.emplace_back(name);
  }
  for (const std::string& name : names)
    table.rows.push_back({name, shown_value(name, config.shown(name)),
                          config.is_given(name) ? source_of(config.place(name)) : "default"});
  for (const auto& [name, value] : found)
    table.rows.push_back({name, value, "found"});
  return table;
}

std::string allowed_cores() {
  return system_value("/proc/self/status", "Cpus_allowed_list");
}

std::string machine_text(const cluster::Topology& topology, const cluster::DeviceChoice& choice) {
  std::string text = topology.place().host + ": " + system_value("/proc/cpuinfo", "model name") +
                     ", cores " + allowed_cores() + " for rank 0";
  if (!choice.gpu.name.empty()) text += ", " + choice.gpu.name;
  const int nodes = topology.num_nodes();
  return nodes == 1 ? text : text + "; " + std::to_string(nodes) + " nodes";
}

std::string versions_text() {
  std::string text;
  for (const auto& [name, version] : build_info().versions)
    text += (text.empty() ? "" : ", ") + name + " " + version;
  return text;
}

std::string memory_text(const report::RunSummary& summary) {
  std::uint64_t largest = 0;
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : summary.host_peak_bytes) {
    largest = std::max(largest, bytes);
    sum += bytes;
  }
  return report::bytes_text(largest) + " at most in a rank, " + report::bytes_text(sum) +
         " in all ranks (peaks)";
}

}  // namespace mgpu::app
