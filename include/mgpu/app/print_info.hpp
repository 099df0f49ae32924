#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>

#include <mgpu/app/cli.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/base/error_page.hpp>

namespace mgpu::app {

/// Answers options that need no run: --help, --version, --env, --explain, --print-config. Returns
/// nullopt when the options ask for something else. Every rank writes the answer to `out`, so the
/// caller must pass a stream without output on ranks whose text is not to be shown.
/// Ranks:  collective over the group of `files` for --print-config, local otherwise.
/// Errors: those of load_config() for --print-config; ConfigFailure (exit 64) for --explain of
///         something unknown.
std::optional<ExitCode> print_info(const Options& options, const KeyTable& table,
                                   std::span<const ErrorPage> pages, const FileProvider& files,
                                   std::ostream& out);

/// Returns the text of --explain about `topic`: a key or its alias, a section, an error code, an
/// accepted name (KeyTable::accept()), or a name in another program. For a key, the last part of
/// its name is enough.
/// Errors: ConfigFailure E144 (exit 64) when `topic` is none of these. Its help names the nearest
///         key or error code, if one is near enough.
std::string explain(const KeyTable& table, std::span<const ErrorPage> pages,
                    const std::string& topic);

}  // namespace mgpu::app
