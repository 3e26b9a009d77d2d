#pragma once
// Makes the program that every GPU of a scenario runs: picks the schedule of its algorithm and fills in its options.
#include "sim/cluster/cluster.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::program {

/// The all-reduce that the scenario names.
AllReduce all_reduce_of(const Scenario& scenario);
/// The input pipeline of one learner, with what the node's CPUs pre-process (0: as fast as it is wanted).
Loading loading_of(const Scenario& scenario, int gpus, int batch_per_gpu, double samples_per_s_per_node);
/// Returns the parts of the cluster that are needed for input that crosses its links.
InputHosts input_hosts_of(const Scenario& scenario);
/// Input pipeline and overlap as the scenario has them.
SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);
/// The program of the scenario's algorithm. Algorithms that are no program, because their ranks do not all do the same,
/// are not asked for here.
Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);

}  // namespace lockstep::sim::program
