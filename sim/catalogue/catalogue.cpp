#include "sim/catalogue/catalogue.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/text.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/catalogue/read_entries.hpp"
#include "sim/loss/law_json.hpp"
#include "sim/scenario/kernels_spec.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

JsonDocument open(const std::string& folder, const std::string& file, const std::string& key) {
  JsonDocument document = JsonDocument::load(folder + "/" + file);
  document.root().keys({"schema", "description", key});
  document.root().at("schema").choice({"lockstep/catalogue/1"});
  return document;
}

// The values that reading `entry` has listed, as the facts of that entry.
std::vector<Assumption> facts_below(const JsonDocument& document, const JsonNode& entry) {
  std::vector<Assumption> facts;
  for (const Assumption& fact : document.assumptions())
    if (fact.pointer.rfind(entry.pointer() + "/", 0) == 0) facts.push_back(fact);
  return facts;
}

template <typename Of>
void add_names(const JsonNode& node, const std::vector<Of>& entries, NameIndex& names) {
  const auto add = [&](const std::string& name, const JsonNode& at) {
    if (plain_name(name).empty()) at.fail(in_quotes(name) + " has no letter", "allowed: a name with letters or digits");
    if (const auto other = names.add(name, entries.size() - 1))
      at.fail(in_quotes(name) + " stands for " + in_quotes(entries[*other].id) + " already",
              "allowed: names that no other entry has, case, blanks and separators aside");
  };
  const Of& entry = entries.back();
  add(entry.id, node.at("id"));
  if (!entry.name.empty()) add(entry.name, node.at("name"));
  for (const JsonNode& alias : node.at("aliases").items()) add(alias.text(), alias);
}

template <typename Of>
Entries<Of> read_all(const std::string& folder, const std::string& file, const std::string& key,
                     Of (*read)(const JsonNode&)) {
  const JsonDocument document = open(folder, file, key);
  std::vector<Of> entries;
  NameIndex names;
  for (const JsonNode& node : document.root().at(key).items()) {
    entries.push_back(read(node));
    entries.back().facts = facts_below(document, node);
    add_names(node, entries, names);
  }
  if (entries.empty()) document.root().at(key).fail("no entry", "allowed: at least one");
  return {std::move(entries), std::move(names)};
}

std::map<std::string, Constant> read_constants(const std::string& folder) {
  std::map<std::string, Constant> constants;
  if (!std::filesystem::exists(folder + "/fitted.json")) return constants;
  const JsonDocument document = open(folder, "fitted.json", "constants");
  for (const JsonNode& node : document.root().at("constants").items()) {
    node.keys({"name", "value", "deviation", "records", "sources"});
    constants[node.at("name").text()] = {node.at("value").number({0, 1e9}), node.at("deviation").number({0, 10}),
                                         static_cast<int>(node.at("records").integer(1, 1 << 20)),
                                         texts_of(node.at("sources"))};
  }
  return constants;
}

LossLawEntry read_law_entry(const JsonNode& node) {
  LossLawEntry entry;
  entry.law = read_loss_law(node);
  entry.id = entry.law.id;
  entry.name = entry.law.name;
  entry.aliases = entry.law.aliases;
  return entry;
}

// Checks that entries named by boards exist and have figures.
void check_boards(const Catalogue& catalogue, const std::string& folder) {
  for (const IntraNodeEntry& board : catalogue.intra_nodes) {
    if (board.board_of.empty()) continue;
    const IntraNodeEntry* links = catalogue.intra_nodes.with_id(board.board_of);
    if (links == nullptr || !links->is_nvlink || !links->board_of.empty())
      throw InputError(folder + "/intra_node.json: " + in_quotes(board.id) + ": no NVLinks " +
                       in_quotes(board.board_of) + " with figures; allowed: an id of such");
  }
}

// Checks that entries named by a GPU exist. `where`: the file and the entry.
void check_gpu(const Catalogue& catalogue, const GpuEntry& gpu, const std::string& where) {
  const auto check_link = [&](const std::string& link) {
    if (catalogue.intra_nodes.with_id(link) == nullptr)
      throw InputError(where + "no link " + in_quotes(link) + "; allowed: an id of intra_node.json");
  };
  const auto check_id = [&](const std::string& id) {
    if (catalogue.gpus.with_id(id) == nullptr)
      throw InputError(where + "no GPU " + in_quotes(id) + "; allowed: an id of gpus.json");
  };
  check_link(gpu.intra_node);
  for (const std::string& link : gpu.other_links) check_link(link);
  if (gpu.speed_of != gpu.id) check_id(gpu.speed_of);
  if (!gpu.kernels_of.empty()) check_id(gpu.kernels_of);
  const NetworkReading network = read_network(catalogue.networks, gpu.network, gpu.gpus_per_node);
  if (!network.wrong.empty())
    throw InputError(where + "network " + in_quotes(gpu.network) + ": " + network.wrong +
                     "; allowed: " + kNetworkGrammar);
}

void add_gpu_of_file(Catalogue& catalogue, const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  const JsonNode node = document.root();
  GpuEntry gpu = read_gpu(node);
  gpu.file = path;
  gpu.facts = facts_below(document, node);
  check_gpu(catalogue, gpu, path + ": ");
  std::vector<std::string> names = gpu.aliases;
  names.insert(names.end(), {gpu.id, gpu.name, path});
  if (const GpuEntry* other = catalogue.gpus.add(std::move(gpu), names))
    node.at("id").fail("its id, name or an alias stands for " + in_quotes(other->id) + " already",
                       "allowed: names that no GPU of --list has");
}

}  // namespace

const IntraNodeEntry& Catalogue::figures_of(const IntraNodeEntry& link) const {
  return link.board_of.empty() ? link : intra_node_by_id(link.board_of);
}

std::vector<std::string> Catalogue::kernel_donors_of(const GpuEntry& gpu) const {
  std::vector<std::string> donors;
  const GpuEntry* donor = &gpu;
  for (std::size_t steps = 0; donor != nullptr && steps < gpus.size(); ++steps) {
    if (kernel_files->find(donor->id)) donors.push_back(donor->id);
    donor = donor->kernels_of.empty() ? nullptr : gpus.with_id(donor->kernels_of);
  }
  return donors;
}

KernelLaws Catalogue::kernel_laws_of(const GpuEntry& gpu) const {
  KernelLaws laws(kernel_peaks(gpu.spec));
  for (const std::string& id : kernel_donors_of(gpu)) {
    const GpuEntry& donor = *gpus.with_id(id);
    const Carried carried = id == gpu.id                         ? Carried::no
                            : donor.generation == gpu.generation ? Carried::within_generation
                                                                 : Carried::to_other_generation;
    laws.add(kernel_files->find(id), carried, donor.intra_node == gpu.intra_node);
  }
  return laws;
}

std::string Catalogue::why_no_link(const GpuEntry& gpu, const IntraNodeEntry& link) const {
  if (!link.is_nvlink) return "";
  const IntraNodeEntry& own = intra_node_by_id(gpu.intra_node);
  if (link.share_of_bridge > 0)
    return gpu.nvlink_bridge_bytes_per_s > 0 ? "" : gpu.name + " takes no NVLink bridge; use " + own.id;
  const bool is_on_board = link.id == own.id || link.board_of == own.id ||
                           std::count(gpu.other_links.begin(), gpu.other_links.end(), link.id) > 0;
  if (is_on_board) return "";
  const std::string bridge = gpu.nvlink_bridge_bytes_per_s > 0 ? " or nvlink-bridge" : "";
  return gpu.name + " has no " + link.name + "; use " + own.id + bridge;
}

LinkSpec Catalogue::nvlink_of(const IntraNodeEntry& link, const GpuEntry& gpu) const {
  LinkSpec bus = figures_of(link).bus;
  if (link.share_of_bridge > 0) bus.bandwidth_bytes_per_s = link.share_of_bridge * gpu.nvlink_bridge_bytes_per_s;
  return bus;
}

const IntraNodeEntry* Catalogue::board_of(const std::string& link) const {
  for (const IntraNodeEntry& entry : intra_nodes)
    if (entry.board_of == link) return &entry;
  return nullptr;
}

const IntraNodeEntry& Catalogue::intra_node_by_id(const std::string& id) const {
  const IntraNodeEntry* entry = intra_nodes.with_id(id);
  if (entry == nullptr) throw InputError("catalogue: no intra-node link " + in_quotes(id));
  return *entry;
}

Catalogue load_catalogue(const std::string& folder) {
  Catalogue catalogue;
  catalogue.gpus = read_all(folder, "gpus.json", "gpus", read_gpu);
  catalogue.intra_nodes = read_all(folder, "intra_node.json", "intra_node", read_intra_node);
  catalogue.networks = read_all(folder, "networks.json", "networks", read_network);
  catalogue.stacks = read_all(folder, "stacks.json", "stacks", read_stack);
  catalogue.models = read_all(folder, "models.json", "models", read_model);
  catalogue.loss_laws = read_all(folder, "loss_laws.json", "laws", read_law_entry);
  catalogue.constants = read_constants(folder);
  catalogue.kernel_files = std::make_shared<KernelLawFiles>(folder);
  catalogue.reference_points = std::make_shared<ReferenceFile>(folder + "/reference_points.json");
  check_boards(catalogue, folder);
  for (const GpuEntry& gpu : catalogue.gpus)
    check_gpu(catalogue, gpu, folder + "/gpus.json: " + in_quotes(gpu.id) + ": ");
  return catalogue;
}

bool is_gpu_file(const std::string& name) {
  const std::string ending = ".json";
  return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

void add_gpus_of_files(Catalogue& catalogue, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (is_gpu_file(name)) add_gpu_of_file(catalogue, name);
}

}  // namespace catalogue
}  // namespace lockstep::sim
