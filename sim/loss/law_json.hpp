#pragma once
// A law of the loss as JSON: an entry of the catalogue's loss_laws.json, or a file of one's own (schema
// "lockstep/loss-law/1"). README.md describes the keys.
#include <string>

#include "engine/base/json.hpp"
#include "sim/loss/loss_law.hpp"

namespace lockstep::sim::loss {

/// Throws InputError.
LossLaw read_loss_law(const JsonNode& node);
/// A file: the entry's keys and the schema. Throws InputError.
LossLaw load_loss_law(const std::string& path);
Json loss_law_json(const LossLaw& law);

/// Whether --loss-law names a file, *.json.
bool is_law_file(const std::string& name);

}  // namespace lockstep::sim::loss
