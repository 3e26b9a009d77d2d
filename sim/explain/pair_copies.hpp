#pragma once
// Copies between the GPUs of a node, as p2pBandwidthLatencyTest measures them, compared with the links between them.
//
// Expected time of a copy: bytes over the slowest link of its route in the simulated node, plus the route's latency.
// Links carry both directions at once. Pairs of the same expected bandwidth form a group, whose median is compared with
// it. A pair below kOddShare of its group's median is odd: it gets a verdict of its own, and the causes are those of its
// link alone.
#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

constexpr double kOddShare = 0.8;

/// Returns the groups of pairs and the odd pairs in a file. Throws InputError for a GPU whose pairs have different numbers
/// of NVLinks, which the file does not have (V100, P100 and bridges), and for a file without pairs.
std::vector<MeasuredCollective> measured_pairs(const std::string& text, const std::string& file,
                                               const CheckedMachine& given, const Catalogue& catalogue);

/// Says what the copies were compared with.
std::string pairs_text(const MeasuredCollective& measured, const Catalogue& catalogue);

/// Returns the expected time, with the variant's change of the machine; null: no fault.
std::vector<Expected> predict_pairs(const MeasuredCollective& measured, const Catalogue& catalogue,
                                    const FaultVariant* variant);

}  // namespace lockstep::sim::explain
