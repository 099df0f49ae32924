#pragma once

#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::report {

/// Each rank's text, in rank order, on rank 0; empty on the others.
///
/// Ranks:  collective over `group`.
/// Errors: Error on every rank when the texts together pass 2 GiB; LibraryError.
std::vector<std::string> gather_texts(const cluster::Group& group, const std::string& mine);

}  // namespace mgpu::report
