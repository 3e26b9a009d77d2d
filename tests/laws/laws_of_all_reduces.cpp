// Laws of all-reduces.
#include <cmath>

#include "sim/catalogue/network_grammar.hpp"
#include "sim/collective/nccl.hpp"
#include "sim/job_prediction/all_reduce_times.hpp"
#include "sim/program/nccl_system.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

struct Machine {
  sim::AllReduceQuestion question;

  std::string command() const {
    const sim::AllReduceQuestion& q = question;
    std::string text = "simulate all-reduce --gpu " + q.gpu + " --gpus-per-node " + std::to_string(q.gpus_per_node);
    if (!q.network.empty()) text += " --network \"" + q.network + "\"";
    if (!q.link.empty()) text += " --link \"" + q.link + "\"";
    if (!q.algorithm.empty()) text += " --algorithm " + q.algorithm;
    return text + " --gpus " + std::to_string(q.gpus.at(0)) + " --bytes " + q.sizes.at(0);
  }
  sim::AllReduceTime time() const { return sim::all_reduce_times(question, catalogue(), 0).rows.at(0); }
};

// Returns NCCL's algorithm and protocol, or nothing if the machine names an algorithm.
std::string nccl_choice_of(const Machine& machine) {
  std::string choice;
  if (!machine.question.algorithm.empty()) return choice;
  const auto read_choice = [&](const sim::Workload& workload) {
    const sim::Scenario& s = workload.scenario;
    const sim::NcclTime time = sim::nccl_choice(sim::nccl_system(s.cluster, s.communication.nccl, workload.gpus),
                                                sim::NcclOperation::all_reduce, machine.time().bytes);
    choice = sim::to_string(time.algorithm) + " " + sim::to_string(time.protocol);
  };
  sim::all_reduce_times(machine.question, catalogue(), 0, read_choice);
  return choice;
}

Machine random_machine(Draws& draws) {
  const CommandJob job = random_replicas(draws);
  Machine machine;
  sim::AllReduceQuestion& q = machine.question;
  q.gpu = job.value("--gpu");
  q.gpus_per_node = std::stoi(job.value("--gpus-per-node"));
  q.gpus = {std::max(2, std::stoi(job.value("--gpus")))};
  q.network = job.value("--network");
  if (draws.one_in(4)) q.algorithm = draws.of({"ring", "tree", "hierarchical", "halving-doubling"});
  q.sizes = {draws.of({"1kB", "64kB", "1MB", "4MB", "32MB", "256MB", "1GB", "4GB"})};
  return machine;
}

Case compared(const Machine& faster, const Machine& slower) {
  return Compared{faster.time().seconds / slower.time().seconds - 1, {slower.command(), faster.command()}};
}

Case reduce_more_bytes(Draws& draws) {
  Machine machine = random_machine(draws);
  const double bytes = std::pow(2.0, draws.of({10, 14, 17, 18, 20, 22, 24, 26, 28, 30}));
  machine.question.sizes = {std::to_string(static_cast<std::int64_t>(bytes)) + " B"};
  Machine more = machine;
  more.question.sizes = {std::to_string(static_cast<std::int64_t>(2 * bytes)) + " B"};
  return compared(machine, more);
}

// Returns true if NVLink joins the nodes into one. More GPUs then give NVLS more channels.
bool is_joined(const Machine& machine) {
  return machine.question.gpus[0] <= catalogue().gpus.with_id(machine.question.gpu)->nvlink_domain;
}

// Halving and doubling exchanges most between the farthest GPUs. With more nodes, more of that crosses the network,
// which may be faster than the node's links. NCCL chooses by its own tables, which know nothing of slow sockets and host
// memory: with more nodes it may change to an algorithm that is faster there.
Case reduce_more_nodes(Draws& draws) {
  Machine machine = random_machine(draws);
  if (machine.question.algorithm == "halving-doubling" || is_joined(machine)) return std::nullopt;
  if (machine.question.gpus[0] % machine.question.gpus_per_node != 0) return std::nullopt;
  Machine more = machine;
  more.question.gpus[0] *= 2;
  if (nccl_choice_of(machine) != nccl_choice_of(more)) return std::nullopt;
  return compared(machine, more);
}

Case reduce_faster_network(Draws& draws) {
  Machine machine = random_machine(draws);
  if (machine.question.gpus[0] <= machine.question.gpus_per_node) return std::nullopt;
  Machine faster = machine;
  faster.question.network = *with_double_rate(machine.question.network);
  return compared(faster, machine);
}

Case reduce_lower_latency(Draws& draws) {
  const Machine machine = random_machine(draws);
  if (machine.question.gpus[0] <= machine.question.gpus_per_node) return std::nullopt;
  const auto halve = [](sim::Workload& workload) {
    sim::ClusterSpec& cluster = workload.scenario.cluster;
    for (sim::LinkSpec* link : {&cluster.nic.link, &cluster.fabric.link}) link->latency_s /= 2;
  };
  const double halved_s = sim::all_reduce_times(machine.question, catalogue(), 0, halve).rows.at(0).seconds;
  return Compared{halved_s / machine.time().seconds - 1, {machine.command() + "  # with half the network's latency"}};
}

// Tests the optimistic bound: bytes that leave a node in a ring cross its ports.
Case no_faster_than_the_wire(Draws& draws) {
  const Machine machine = random_machine(draws);
  const sim::AllReduceQuestion& q = machine.question;
  if (q.gpus[0] <= q.gpus_per_node || catalogue().gpus.with_id(q.gpu)->nvlink_domain > 0) return std::nullopt;
  const sim::NetworkReading network = sim::read_network(catalogue().networks, q.network, q.gpus_per_node);
  const double wire_bytes_per_s = network.found->ports * network.found->line_bits_per_s / 8;
  const sim::AllReduceTime time = machine.time();
  const int nodes = q.gpus[0] / q.gpus_per_node;
  const double least_s = 2.0 * (nodes - 1) / nodes * static_cast<double>(time.bytes) / wire_bytes_per_s;
  return Compared{least_s / time.low_s - 1, {machine.command()}};
}

}  // namespace

const std::vector<Law>& laws_of_all_reduces() {
  static const std::vector<Law> all{
      {"more bytes take no less time", 0.005, reduce_more_bytes},
      {"more nodes take no less time", 0.005, reduce_more_nodes},
      {"all-reduce: a network of twice the rate is no slower", 0.005, reduce_faster_network},
      {"all-reduce: half the network's latency is no slower", 1e-9, reduce_lower_latency},
      {"all-reduce: no bound beats the wire", 1e-9, no_faster_than_the_wire}};
  return all;
}

}  // namespace lockstep::tests
