#pragma once

#include <filesystem>

#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/topology.hpp>

#include "check_list.hpp"

namespace mgpu::app {

// Each probe tests an operation of a run with a small amount of data, for --check.

/// Gathers one number from each rank. Then writes 16 MiB to the journal in `folder`, makes an HDF5
/// file from the journal, and reads the file back. Finding::detail has the speed of making and
/// reading the HDF5 file, in MB/s. The finding is a warning if some HDF5 writes were not
/// collective.
/// Ranks:  collective over `world`.
/// Errors: the same Failure on all ranks.
Finding probe_files(const cluster::Group& world, const std::filesystem::path& folder);

/// Saves a checkpoint in `folder`, loads it on every rank, and compares the loaded bits with the
/// saved ones. Finding::detail is empty.
/// Ranks:  collective over `world`.
/// Errors: the same Failure on all ranks.
Finding probe_restart(const cluster::Group& world, const std::filesystem::path& folder);

/// Sums 16 MiB over all ranks, as training sums gradients. Finding::detail has the speed in MB/s.
/// Ranks:  collective over the topology's world.
/// Errors: the same Failure on all ranks.
Finding probe_all_reduce(const cluster::Topology& topology, const cluster::DeviceChoice& choice,
                         double timeout_s);

}  // namespace mgpu::app
