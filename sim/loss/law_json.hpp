#pragma once
// A law of the loss as JSON: an entry of the catalogue's loss_laws.json, or a user's file (schema
// "lockstep/loss-law/1"). README.md describes the keys.
#include <string>

#include "engine/base/json.hpp"
#include "sim/loss/loss_law.hpp"

namespace lockstep::sim::loss {

/// Reads a law. Throws InputError if it is invalid.
LossLaw read_loss_law(const JsonNode& node);
/// Reads a file with an entry's keys and the schema. Throws InputError if it is invalid.
LossLaw load_loss_law(const std::string& path);
Json loss_law_json(const LossLaw& law);

/// True if --loss-law names a file, *.json.
bool is_law_file(const std::string& name);

}  // namespace lockstep::sim::loss
