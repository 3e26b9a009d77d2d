// The machine of a publication: links in a node, and the network between nodes.
#include <algorithm>
#include <regex>
#include <set>

#include "engine/base/text.hpp"
#include "sim/records/names_in_texts.hpp"
#include "sim/records/network_port.hpp"
#include "sim/records/network_text.hpp"
#include "sim/records/translate_parts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kSlowest = 2e9;  // bit/s below which a network cannot be what V100 and later train over

// "PCI-Express 3.0", "PCI-E": PCIe.
std::string with_pcie(const std::string& text) {
  static const std::regex names(R"(pci[ -]?e(?:xpress)?(?![a-z]))", std::regex::icase);
  return std::regex_replace(text, names, "PCIe");
}

// No GPU before Ampere has PCIe 4: "PCIe, 4 per switch" means something else.
bool is_younger(const IntraNodeEntry& entry, const GpuEntry& gpu) {
  if (entry.id != "pcie4" && entry.id != "pcie5") return false;
  static const std::set<std::string> older{"kepler", "maxwell", "pascal", "volta", "turing"};
  return older.count(gpu.generation) > 0;
}

bool says_nvlink(const std::string& text) {
  static const std::regex count_of_links(R"(\bnv\d{1,2}\b)", std::regex::icase);  // nvidia-smi topo: "NV18"
  return says(text, {"nvlink", "nvswitch", "sxm"}) || std::regex_search(text, count_of_links);
}

bool says_pcie(const std::string& text) {
  return says(text, {"pci", "qpi", "upi", "root", "host", "switch", "plx", "pix", "pxb", "phb", "sys", "sli"});
}

// Left open, it is the GPU's usual one (cluster_map.cpp), for the reason in `assumed`.
void translate_link(const std::string& stated, JobSpec& job, const GpuEntry& gpu, const Catalogue& catalogue) {
  const std::string text = with_pcie(stated);
  if (says_no_network(text) || mentions(text, "not stated")) return;
  const IntraNodeEntry* entry = intra_node_in_text(catalogue, text);
  const auto is = [&](const std::string& id, const char* why) {
    job.link = {stated, id, ""};
    if (why != nullptr) job.assumed["link"] = why;
  };
  if (entry != nullptr && !is_younger(*entry, gpu)) return is(entry->id, nullptr);
  const bool usual_is_nvlink = catalogue.intra_node_by_id(gpu.intra_node).is_nvlink;
  const bool is_nvlink = says_nvlink(text);
  if (is_nvlink && !usual_is_nvlink) return is("nvlink-bridge", "NVLink between PCIe boards: a bridge");
  if (!is_nvlink && says_pcie(text) && usual_is_nvlink) return is("pcie", "generation not stated");
  if (is_nvlink || says_pcie(text)) {
    job.assumed["link"] = "generation not stated";
    return;
  }
  job.link.stated = text;
}

// "AWS p4d.24xlarge", "ND_H100_v5": the machine says it.
void translate_network_of_system(const Record& record, JobSpec& job, const Catalogue& catalogue) {
  const std::optional<NetworkFound> found = read_network_text(catalogue, record.system);
  if (!found || found->port_bytes_per_s <= 0 || found->line_bits_per_s != 0) return;
  job.network = network_stated(*found);
  job.network.is_count_stated = true;  // a machine's ports are those of its entry
  job.network.is_none = true;
  job.assumed["network"] = "not stated; that of " + record.system;
}

void translate_network(const Record& record, JobSpec& job, const GpuEntry& gpu, const Catalogue& catalogue) {
  const std::string& text = record.network;
  NetworkStated& network = job.network;
  if (says_no_network(text)) {
    network.is_none = true;
    return translate_network_of_system(record, job, catalogue);
  }
  if (mentions(text, "data cent")) {
    network.why_not = "network " + in_quotes(text) + ": neither type nor rate is stated";
    return;
  }
  const std::optional<NetworkFound> found = read_network_text(catalogue, text);
  if (!found) {
    if (says(text, {"see system", "not stated"})) {
      job.assumed["network"] = "not stated";
      return;
    }
    network.is_stated = true;
    network.why_not = "network " + in_quotes(text) + " is not in the catalogue";
    return;
  }
  const bool is_modern = gpu.has_tensor_cores();
  // MLPerf's system descriptions list every network, the management's among them.
  const bool is_slow = found->line_bits_per_s > 0 && found->line_bits_per_s * found->ports < kSlowest;
  if (job.is_mlperf() && is_modern && is_slow) {
    job.assumed["network"] = text + " is taken for the management network";
  } else if (found->port_bytes_per_s <= 0 || (found->entry->id == "ib" && found->line_bits_per_s == 0 && is_modern)) {
    job.assumed["network"] = text + ": rate not stated";
  } else {
    network = network_stated(*found);
  }
}

}  // namespace

void translate_machine(const Record& record, JobSpec& job, const Catalogue& catalogue) {
  const GpuEntry* gpu = catalogue.gpus.with_id(job.gpu.id);
  if (gpu == nullptr) return;
  translate_link(record.intra_node_link, job, *gpu, catalogue);
  translate_network(record, job, *gpu, catalogue);
}

}  // namespace records
}  // namespace lockstep::sim
