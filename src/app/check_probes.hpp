#pragma once

#include <filesystem>

#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/topology.hpp>

#include "check_list.hpp"

namespace mgpu::app {

/// Small versions of the operations of a run. Each is collective over the world, and its failures
/// are the same Failure on all ranks.

/// Gathers a number of each rank, then journals, seals and reads 16 MiB of HDF5 in `folder`.
Finding probe_files(const cluster::Group& world, const std::filesystem::path& folder);

/// Saves a checkpoint in `folder`, loads it on every rank, and compares the bits.
Finding probe_restart(const cluster::Group& world, const std::filesystem::path& folder);

/// Sums 16 MiB over all ranks, as training sums gradients.
Finding probe_all_reduce(const cluster::Topology& topology, const cluster::DeviceChoice& choice,
                         double timeout_s);

}  // namespace mgpu::app
