#pragma once
// Describes how a job was understood, in the lines before its table: the meaning of each name, and the defaults.
#include <optional>
#include <string>

#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/job/job.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::job_prediction {

struct JobSummary {
  std::string model, title;  ///< id and title
  const GpuEntry* gpu = nullptr;
  int gpus_per_node = 0;
  bool is_node_stated = false;
  const IntraNodeEntry* link = nullptr;  ///< nullptr: one GPU per node
  bool is_link_stated = false;
  std::optional<NetworkFound> network;  ///< none: a single node
  bool is_network_stated = false;
  const StackEntry* software = nullptr;
  std::string algorithm;  ///< a text; empty: not given
  Precision precision = Precision::fp32;
  bool has_half_parameters = false;
  bool channels_last = false;
  bool decodes_on_host = false;
  int lora_rank = 0;  ///< 0: all weights are trained
  LoraTarget lora_target = LoraTarget::attention;
  FrozenWeights frozen_weights = FrozenWeights::whole;
};

/// Summarises a job from its given form, its resolved form, and its scenario.
JobSummary summary_of(const Job& given, const Job& resolved, const Scenario& scenario, const Catalogue& catalogue);

/// Returns two lines: "Read: ResNet-50 v1 (resnet50) on H100 SXM5 (h100-sxm), 8 per node by NVLink 4; ...".
std::string summary_text(const JobSummary& summary);
/// Returns the part about the machine: "H100 SXM5 (h100-sxm), 8 per node by NVLink 4; network ...".
std::string machine_text(const JobSummary& summary);
/// Returns the summary as an object: `{"model": {"id", "title"}, "gpu": {"id", "name", "memory_bytes"},
/// "gpus_per_node", "link", "network": {"id", "text", "ports", "port_bytes_per_s", "rdma", "stated"}, "software",
/// "algorithm", "precision"}`; "channels_last" is present only if set.
Json summary_json(const JobSummary& summary);

}  // namespace lockstep::sim::job_prediction
