#pragma once
// Makes a link of a cluster from copies measured by `calibrate`, or from logs of nvbandwidth.
//
//   {"from": "gpu0", "to": "gpu1", "both_ways"?: true, "memory"?: "pinned", "link"?: "NV18", "hops"?: 2}
//
// names a copy of the profile in /cluster/profile. The line t(bytes) = latency + bytes / bandwidth through its samples
// (calib::fit_line: least squares of the relative error) gives the link's bandwidth. A copy may pass several of the
// cluster's links, one after another; each has an equal share of the latency.

#include "calib/profile.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::scenario {

/// The place of a link in a node, to which measured copies belong.
struct LinkPlace {
  int hops_between_gpus = 0;   ///< links on a copy between GPUs, including this one; 0: no such copy crosses it
  int hops_of_host = 0;        ///< likewise for a copy between host and GPU
  bool is_one_nvlink = false;  ///< one of the n NVLinks of a pair ("NV2"), which divide its bytes
};

/// Returns the JSON Schema of such a copy.
Json copy_schema();

/// `profile`: null if the cluster has none. Lists bandwidth and latency as inputs of the document. Throws InputError
/// for unknown keys, a missing profile or copy, a copy over another kind of link, and a copy whose time does not grow
/// with its bytes.
LinkSpec measured_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place);

}  // namespace lockstep::sim::scenario
