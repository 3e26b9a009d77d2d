#pragma once
// The flags of `train` that make up a Request: of a command line, and of the runs of a sweep file.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/base/completion.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// Adds the flags of a run. `app` must not outlive `request`.
void declare(CLI::App& app, Request& request);

/// What the flags of a run take, for the completion of command lines: networks, data sets, algorithms, devices, precisions.
CompletionNames completion_names();

/// A Request from flags alone, as {"--batch", "32"}. Throws InputError.
Request request_of(const std::vector<std::string>& arguments);

}  // namespace lockstep::train
