#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/report/html_page.hpp>
#include <mgpu/report/summary.hpp>

// These functions format facts about the configuration and the machine for report.html. The
// functions do not communicate.
namespace mgpu::app {

/// Pairs of a name and a text, such as JobOutcome::inputs (names and checksums of inputs).
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns a table of the keys whose values are not the defaults, with the place that sets each
/// key. If the job reads run.seed, data.path or model.path, the table contains these keys too,
/// unless they are null. The last rows are the pairs in `found`.
report::Table settings_table(const Config& config, const NamedTexts& found);

/// Returns the cores that this process may use, such as "0-1".
std::string allowed_cores();

/// Formats the host, the processor, the cores and the GPU of rank 0. Only rank 0 may call this
/// function. If the run has several nodes, the text ends with the number of nodes.
std::string machine_text(const cluster::Topology& topology, const cluster::DeviceChoice& choice);

/// Formats the versions of the program and of the libraries it was built with: "..., hdf5 1.10.8,
/// libtorch 2.11.0".
std::string versions_text();

/// Formats the largest peak of host memory of any rank, and the sum of the peaks of all ranks.
std::string memory_text(const report::RunSummary& summary);

}  // namespace mgpu::app
