#pragma once
// A link of a cluster as `calibrate` measured copies over it, or as logs of nvbandwidth have them.
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
  int hops_between_gpus = 0;   ///< links that a copy between GPUs passes there, itself included; 0: none goes there
  int hops_of_host = 0;        ///< the same of a copy between host and GPU
  bool is_one_nvlink = false;  ///< of the n that join a pair ("NV2"), between which its bytes are divided
};

/// JSON Schema of such a copy.
Json copy_schema();

/// Whether a link is given by a copy, and not by its bandwidth and latency.
bool names_copy(const JsonNode& node);

/// `profile`: null where the cluster has none. Notes bandwidth and latency in the document's ledger. Throws InputError:
/// unknown keys, no profile, no such copy in it, a copy that does not go over such a link, one whose time does not grow
/// with its bytes.
LinkSpec measured_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place);

}  // namespace lockstep::sim::scenario
