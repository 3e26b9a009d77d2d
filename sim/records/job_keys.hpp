#pragma once
// Records in explicit keys. A record with software, dp, microbatch, layers or hidden is one: nothing of it is searched for words.
// Without software it is the one that is usual for the split (stated_split.hpp), which is said.
//
//   {"id": "X-1", "group": "X", "source": "...", "role": "target", "metric": "images_per_s", "unit": "images/s",
//    "value": 1812, "software": "tensorflow", "model": "resnet50", "gpu": "p100-sxm2", "gpus": 8, "gpus_per_node": 4,
//    "link": "nvlink1", "network": {"id": "roce", "count": 1, "rate": "25 Gbit/s"}, "transport": "nccl",
//    "all_reduce": "ring", "precision": "fp32", "batch_per_gpu": 64}
//
//   software, model, gpu, link, network   ids or names of the catalogue; network also as text: "8x InfiniBand NDR"
//   metric, unit                          by name (metric.hpp): "ms", "images/s/GPU", "tokens/s", "%", "GB/s", "bit/s"; of a
//                                         training on so many tokens "days_for_300B_tokens", "gpu_hours_for_1.5T_tokens"
//   algorithm                             by a name that `simulate job --list` has: "ring", "sharded", "kvstore"; it says
//                                         what is left open of the next three
//   transport, all_reduce, scheme, wire, precision, optimizer, statistic, collective
//                                         choices; "other_algorithm" names one that is not simulated for records
//   overlap, fusion, in_switch, sequential, whole_tensors, fused_attention, fast_convolutions, channels_last, decodes_on_host,
//   strong_scaling, simulated_staleness, causal_flops
//                                         true or false; causal_flops: FLOP/s leave out what a causal mask hides
//   seq, params, layers, hidden, heads, vocab, accumulation, tree_slices, tau, aggregated, baseline, layer, epochs,
//   wanted_efficiency                     numbers
//   tp, pp, dp, cp, ep, etp, virtual_stages, microbatch, sharding, sharding_group, sharding_calls, recompute,
//   sequence_parallel, schedule, tensor_overlap, expert_overlap, context_exchange, expert_capacity, expert_imbalance,
//   lora_rank, offload, task
//                                         how a transformer is divided; what is not simulated yet is said
//   arrival                               {"before_s"} or {"at"}, {"order": [k, n]}, {"longest": true}
//   assumed                               {key: why} for what was taken for granted
//
// In any other record the same keys say more than its texts.
#include <set>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/job_spec.hpp"

namespace lockstep::sim {
inline namespace records {

/// The keys beside those of record.hpp.
const std::vector<std::string>& job_key_names();

/// Reads what a record states in keys. Throws InputError with file and pointer.
JobKeys read_job_keys(const JsonNode& record);

/// Puts the stated keys of a record into its job, names resolved; all of them for a record that is explicit.
void take_keys(const Record& record, JobSpec& job, const Catalogue& catalogue);

/// The facts of a job in explicit keys, ids for names; those at their default are left out. A record of them, with the
/// job's id, role, value, group, source and system, is the same job.
Json job_json(const JobSpec& job);

}  // namespace records
}  // namespace lockstep::sim
