#pragma once
// Draws random jobs over the catalogue's GPUs, models, networks and software.
#include <optional>
#include <string>
#include <vector>

#include "tests/base/draws.hpp"
#include "tests/laws/command_job.hpp"

namespace lockstep::tests {

/// Whole replicas at a given batch per GPU: images or sequences.
CommandJob random_replicas(Draws& draws);
/// A transformer with a given split, micro-batch and global batch.
CommandJob random_split(Draws& draws);
/// A transformer whose split is given only in part, or not at all.
CommandJob random_open_job(Draws& draws);

/// The job's precisions from wide to narrow for which its GPU has units, and single precision.
std::vector<std::string> precisions_of(const std::string& gpu);

/// "8x 100 Gb/s InfiniBand" -> "8x 200 Gb/s InfiniBand"; nullopt: the job gives no rate.
std::optional<std::string> with_double_rate(const std::string& network);

}  // namespace lockstep::tests
