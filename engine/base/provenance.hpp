#pragma once
// Records the program that made a file, its inputs and the time.
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// SHA-256 of bytes or of a file's content, in lower-case hex. The file form throws std::runtime_error if unreadable.
std::string sha256_hex(const std::string& bytes);
std::string sha256_file(const std::string& path);

/// {version, git, argv, started_utc, host, simgrid, network_model, inputs: {path: sha256}}.
/// started_utc is the time of the process's first call, in ISO 8601 with seconds ("2026-01-31T12:00:00Z").
Json provenance(const std::vector<std::string>& argv, const std::string& network_model,
                const std::map<std::string, std::string>& inputs);

}  // namespace lockstep
