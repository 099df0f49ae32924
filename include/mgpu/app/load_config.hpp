#pragma once

#include <functional>

#include <mgpu/app/cli.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/file_provider.hpp>

namespace mgpu::app {

/// Loads the configuration that the command line names. Every rank parses the same bytes.
///
/// `rules` checks rules that concern several keys, and throws Failure if one is broken. If the
/// files and the command line have no mistake, `rules` gets the finished configuration. If they
/// have mistakes, but every file was parsed to its end, `rules` gets a configuration without the
/// wrong values, to find further mistakes (see ConfigSources::rules).
///
/// Ranks:  collective over the group of `files`; `rules` must not communicate.
/// Errors: the same on every rank: ConfigFailure with all mistakes, the failure of `rules`, or
///         Failure E603 (exit 66) if a file cannot be read.
Config load_config(const Options& options, const KeyTable& table, const FileProvider& files,
                   const std::function<void(const Config&)>& rules = {});

}  // namespace mgpu::app
