#pragma once
// What a job was read as, said before its table: what its words mean, and what stands for those that are missing.
#include <optional>
#include <string>

#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim {
inline namespace records {

struct Job;
struct JobPrediction;

struct JobRead {
  std::string model, title;  ///< id and what it is
  const GpuEntry* gpu = nullptr;
  int gpus_per_node = 0;
  bool is_node_stated = false;
  const IntraNodeEntry* link = nullptr;  ///< nullptr: nodes of one GPU
  bool is_link_stated = false;
  std::optional<NetworkFound> network;  ///< none: one node
  bool is_network_stated = false;
  const StackEntry* software = nullptr;
  std::string algorithm;  ///< in words; empty: not stated
  Precision precision = Precision::fp32;
  bool has_half_parameters = false;
  bool channels_last = false;
  bool decodes_on_host = false;
};

JobRead read_of(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue);

/// "Read: ResNet-50 v1 (resnet50) on H100 SXM5 (h100-sxm), 8 per node by NVLink 4; ...", two lines.
std::string read_text(const JobRead& read);
/// The machine's part of it: "H100 SXM5 (h100-sxm), 8 per node by NVLink 4; network ...".
std::string machine_text(const JobRead& read);
/// The same, by key: {"model": {"id", "title"}, "gpu": {"id", "name", "memory_bytes"}, "gpus_per_node", "link",
/// "network": {"id", "text", "ports", "port_bytes_per_s", "rdma", "stated"}, "software", "algorithm", "precision",
/// "channels_last" where it is}.
Json read_json(const JobRead& read);

}  // namespace records
}  // namespace lockstep::sim
