#pragma once
// Random jobs over the catalogue's GPUs, models, networks and software.
#include <optional>
#include <string>
#include <vector>

#include "tests/base/draws.hpp"
#include "tests/laws/command_job.hpp"

namespace lockstep::tests {

/// Draws whole replicas with a given batch per GPU: images or sequences.
CommandJob random_replicas(Draws& draws);
/// Draws a transformer with a given split, micro-batch and global batch.
CommandJob random_split(Draws& draws);
/// Draws one of these two kinds.
CommandJob random_job(Draws& draws);
/// Draws a transformer with little or nothing given of its split.
CommandJob random_open_job(Draws& draws);

/// Returns true if NVLink joins all GPUs of the job, so that it has no network.
bool is_one_node(const CommandJob& job);

/// Returns single precision, and the precisions for which the GPU has units that are faster, from wide to narrow.
std::vector<std::string> precisions_of(const std::string& gpu);

/// "8x 100 Gb/s InfiniBand" -> "8x 200 Gb/s InfiniBand"; nullopt: the job gives no rate.
std::optional<std::string> with_double_rate(const std::string& network);

}  // namespace lockstep::tests
