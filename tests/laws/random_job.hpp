#pragma once
// Random jobs over the catalogue's GPUs, models, networks and software.
#include <optional>
#include <string>
#include <vector>

#include "tests/base/draws.hpp"
#include "tests/laws/command_job.hpp"

namespace lockstep::tests {

/// Whole replicas at a stated batch per GPU: images or sequences.
CommandJob random_replicas(Draws& draws);
/// A transformer with its split, its micro-batch and its global batch stated.
CommandJob random_split(Draws& draws);
/// One of the two.
CommandJob random_job(Draws& draws);
/// A transformer of whose split little or nothing is stated.
CommandJob random_open_job(Draws& draws);

/// Whether NVLink joins all GPUs of the job, so that it has no network.
bool is_one_node(const CommandJob& job);

/// The job's precisions from wide to narrow for which its GPU has units, and single precision.
std::vector<std::string> precisions_of(const std::string& gpu);

/// "8x 100 Gb/s InfiniBand" -> "8x 200 Gb/s InfiniBand"; nullopt: the job states no rate.
std::optional<std::string> with_double_rate(const std::string& network);

}  // namespace lockstep::tests
