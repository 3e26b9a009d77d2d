#pragma once
// A fault modifies the machine or the job that is predicted. All variants of a fault are equally likely.
#include <functional>
#include <string>
#include <vector>

#include "sim/catalogue/network_grammar.hpp"
#include "sim/explain/causes.hpp"
#include "sim/job_prediction/all_reduce_times.hpp"
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::explain {

struct FaultVariant {
  std::string text;                             ///< "1 of 8 NICs"; empty: nothing more to say
  std::string network, link;                    ///< in place of the machine's own; empty: as it is
  std::function<void(GpuEntry&)> change_gpu{};  ///< changes the GPU in a copy of the catalogue
  WorkloadChange change_workload{};             ///< of collectives and of iterations
  std::function<void(Job&)> change_job{};       ///< changes the job; without effect on collectives
  double time_factor = 1;                       ///< factor on the time of an iteration
};

struct Fault {
  CauseId id = CauseId::normal;
  std::vector<FaultVariant> variants;
};

/// Describes a machine by its entries in the catalogue.
struct NamedMachine {
  const GpuEntry* gpu = nullptr;
  const IntraNodeEntry* link = nullptr;
  NetworkFound network;  ///< `entry` is null on one node
  bool is_network_given = false;
  int gpus_per_node = kUsualGpusPerNode;
  int nodes = 1;
};

/// The machine of a question, with the defaults of the GPU. Throws InputError for a name that is not known.
NamedMachine machine_of(const Catalogue& catalogue, const std::string& gpu, const std::string& link,
                        const std::string& network, int gpus_per_node, int gpus);

/// Parts of a node that NCCL's lines say are in use; 0: not known.
struct UsedParts {
  int nics = 0;
  int socket_ports = 0;
};

/// Faults that such a machine can have, whatever runs on it. If `used` says how many NICs or ports are in use, the fault has
/// that one variant.
std::vector<Fault> machine_faults(const Catalogue& catalogue, const NamedMachine& machine, const UsedParts& used = {});

/// Lists faults of a NIC, of the path to it, and of the host that posts its messages.
std::vector<Fault> transfer_faults(bool is_latency);

/// Facts of a measured job that decide which faults it can have.
struct MeasuredJobFacts {
  Scenario scenario;     ///< of the expectation
  bool is_mean = false;  ///< the measured time is the mean of all steps, pauses included
  bool precision_is_logged = false, recomputation_is_logged = false;
};

/// Faults of the job itself.
std::vector<Fault> job_faults(const MeasuredJobFacts& facts);

}  // namespace lockstep::sim::explain
