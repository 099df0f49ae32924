#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::store {

/// Runs `step` on every rank and agrees on the outcome: the report of the lowest rank on which
/// it threw, on all ranks, with that rank named; nothing when it threw nowhere.
///
/// So that what was opened collectively can be closed collectively before anyone throws.
///
/// Ranks: collective over `group`; `step` itself may not communicate over it.
std::optional<Report> agree(const cluster::Group& group, const std::function<void()>& step);

/// The same, as one exception: every rank throws the same Failure, exit code included.
void together(const cluster::Group& group, const std::function<void()>& step);

/// Runs `step` on rank 0 only; its text result, or its failure, on every rank.
std::string on_rank_0(const cluster::Group& group, const std::function<std::string()>& step);

/// The bytes of every rank, joined in rank order, on every rank. Any length.
std::vector<std::byte> all_gather_bytes(const cluster::Group& group,
                                        std::span<const std::byte> mine);

/// The root's bytes into `bytes` of every rank (the same size everywhere). Any length.
void broadcast_bytes(const cluster::Group& group, std::span<std::byte> bytes, int root);

/// Sends to, or receives from, rank 0. Any length; the receiver learns it.
void send_to_rank_0(const cluster::Group& group, std::span<const std::byte> bytes);
std::vector<std::byte> receive_from(const cluster::Group& group, int rank);

void barrier(const cluster::Group& group);

}  // namespace mgpu::store
