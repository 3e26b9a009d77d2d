// Laws over the catalogue for the links that a GPU may have within a node, and data sheets.
#include <map>
#include <set>

#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

const sim::GpuEntry& gpu(const std::string& id) {
  const sim::GpuEntry* entry = catalogue().gpus.with_id(id);
  REQUIRE(entry != nullptr);
  return *entry;
}

const sim::IntraNodeEntry& link(const std::string& id) {
  return catalogue().intra_node_by_id(id);
}

bool may_have(const sim::GpuEntry& gpu, const sim::IntraNodeEntry& link) {
  return catalogue().why_no_link(gpu, link).empty();
}

}  // namespace

TEST_CASE("every GPU has PCIe and its usual link") {
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    INFO(gpu.id);
    CHECK(may_have(gpu, link(gpu.intra_node)));
    for (const sim::IntraNodeEntry& one : catalogue().intra_nodes)
      if (!one.is_nvlink) CHECK(may_have(gpu, one));
  }
}

TEST_CASE("NVLinks of a board are those of GPUs on that board alone, and every one is some GPU's") {
  std::map<std::string, int> owners;
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    const sim::IntraNodeEntry& own = link(gpu.intra_node);
    for (const sim::IntraNodeEntry& one : catalogue().intra_nodes) {
      INFO(gpu.id << " " << one.id);
      if (!one.is_nvlink) continue;
      owners[one.id] += may_have(gpu, one);
      if (may_have(gpu, one)) CHECK(catalogue().nvlink_of(one, gpu).bandwidth_bytes_per_s > 0);
      const bool is_bridge = one.share_of_bridge > 0;
      if (is_bridge) CHECK(may_have(gpu, one) == (gpu.nvlink_bridge_bytes_per_s > 0));
      if (!is_bridge && !own.is_nvlink) CHECK_FALSE(may_have(gpu, one));
      if (!is_bridge && own.is_nvlink && one.name.substr(0, 8) != own.name.substr(0, 8)) {
        const bool is_listed = !gpu.other_links.empty() && gpu.other_links.front() == one.id;
        CHECK(may_have(gpu, one) == is_listed);
      }
    }
    // A card takes a bridge or has NVLinks on its board, not both.
    if (own.is_nvlink) CHECK(gpu.nvlink_bridge_bytes_per_s == 0);
  }
  for (const sim::IntraNodeEntry& one : catalogue().intra_nodes)
    if (one.is_nvlink) {
      INFO(one.id);
      CHECK(owners[one.id] > 0);
    }
}

TEST_CASE("a refused link says which the GPU has") {
  CHECK(catalogue().why_no_link(gpu("rtx4090"), link("nvlink-bridge")) == "RTX 4090 takes no NVLink bridge; use pcie4");
  CHECK(catalogue().why_no_link(gpu("h100-pcie"), link("nvlink4")) ==
        "H100 PCIe has no NVLink 4; use pcie5 or nvlink-bridge");
  CHECK(catalogue().why_no_link(gpu("h100-sxm"), link("nvlink3")) == "H100 SXM5 has no NVLink 3; use nvlink4");
}

TEST_CASE("bridges are as fast as data sheets say, one way") {
  const std::map<std::string, double> sheets{{"rtx3090", 56},    {"rtxa6000", 56}, {"a40", 56},  {"rtx2080ti", 50},
                                             {"titanrtx", 50},   {"rtx6000", 50},  {"a30", 100}, {"a100-pcie", 300},
                                             {"h100-pcie", 300}, {"rtx4090", 0},   {"l40s", 0},  {"l40", 0},
                                             {"l4", 0},          {"t4", 0},        {"a10", 0},   {"rtx6000ada", 0}};
  for (const auto& [id, gb_per_s] : sheets) {
    INFO(id);
    CHECK(gpu(id).nvlink_bridge_bytes_per_s == gb_per_s * 1e9);
  }
  // A ring reaches the same share of the bandwidth of every bridge.
  const double of_3090 = catalogue().nvlink_of(link("nvlink-bridge"), gpu("rtx3090")).bandwidth_bytes_per_s;
  const double of_a100 = catalogue().nvlink_of(link("nvlink-bridge"), gpu("a100-pcie")).bandwidth_bytes_per_s;
  CHECK(of_a100 / of_3090 == Approx(300.0 / 56));
}

TEST_CASE("GeForce of Turing and later have no peers over PCIe, other cards do") {
  const std::set<std::string> later{"turing", "ampere-ga102", "ada", "blackwell-gb202"};
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    INFO(gpu.id);
    const bool is_ada_pro = gpu.id.size() > 3 && gpu.id.substr(gpu.id.size() - 3) == "ada";  // RTX 5000 Ada
    const bool is_geforce =
        !is_ada_pro && (gpu.id.rfind("rtx2", 0) == 0 || gpu.id.rfind("rtx3", 0) == 0 || gpu.id.rfind("rtx4", 0) == 0 ||
                        gpu.id.rfind("rtx5", 0) == 0 || gpu.id == "titanrtx");
    CHECK(gpu.has_pcie_peers == !(is_geforce && later.count(gpu.generation) > 0));
  }
}

}  // namespace lockstep::tests
