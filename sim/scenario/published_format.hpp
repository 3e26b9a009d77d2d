#pragma once
// The scenario's list "published".
#include "sim/scenario/scenario_format.hpp"

namespace lockstep::sim::scenario {

const ObjectFormat<PublishedSpec>& published_format();

/// Results for this variant, and those that name no variant.
std::vector<PublishedSpec> read_published(const JsonNode& node, const std::string& variant,
                                          const std::vector<Variant>& variants);

}  // namespace lockstep::sim::scenario
