#pragma once
// Makes the program that every GPU of a scenario runs: picks the schedule of its algorithm and fills in its options.
#include "sim/cluster/cluster.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::program {

/// The all-reduce that the scenario names.
AllReduce all_reduce_of(const Scenario& scenario);
/// The input pipeline of one learner, if the node's CPUs pre-process at this rate (0: without limit).
Loading loading_of(const Scenario& scenario, int gpus, int batch_per_gpu, double samples_per_s_per_node);
/// Returns the parts of the cluster that are needed for input that crosses its links.
InputHosts input_hosts_of(const Scenario& scenario);
/// Options of S-SGD: input pipeline and overlap as the scenario gives them.
SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);
/// The program of the scenario's algorithm. Call it only for algorithms whose ranks all run the same program.
Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);

}  // namespace lockstep::sim::program
