#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>

#include <mgpu/app/cli.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/base/error_page.hpp>

namespace mgpu::app {

/// Handles the options that need no run: --help, --version, --env, --explain, --print-config.
/// Returns nullopt when the options ask for something else. Every rank writes the answer to `out`.
/// To show the answer once, the caller passes a stream that discards all text on all ranks but one.
///
/// Ranks:  collective over the group of `files` for --print-config, local otherwise.
/// Errors: those of load_config() for --print-config; ConfigFailure (exit 64) if the topic
///         of --explain is unknown.
std::optional<ExitCode> print_info(const Options& options, const KeyTable& table,
                                   std::span<const ErrorPage> pages, const FileProvider& files,
                                   std::ostream& out);

/// Returns the text of --explain about `topic`. The topic is one of these:
///
/// - an error code
/// - the name of a key, the last part of this name, or an alias of a key
/// - a section of keys
/// - a name that is accepted without effect (KeyTable::accept())
/// - the name of a setting in another program (KeyTable::find_foreign())
///
/// Errors: ConfigFailure E144 (exit 64) for any other topic. The help of the failure names the
///         nearest key or error code, if nearest_name() finds one.
std::string explain(const KeyTable& table, std::span<const ErrorPage> pages,
                    const std::string& topic);

}  // namespace mgpu::app
