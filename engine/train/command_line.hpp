#pragma once
// The flags of `train` that fill a Request, for the command line and for runs of a sweep file.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/base/completion.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// Adds the flags of a run. `app` must not outlive `request`.
void declare(CLI::App& app, Request& request);

/// The values that the flags of a run accept, for the completion of command lines.
CompletionNames completion_names();

/// Makes a Request from flags only, such as {"--batch", "32"}. Throws InputError.
Request request_of(const std::vector<std::string>& arguments);

}  // namespace lockstep::train
