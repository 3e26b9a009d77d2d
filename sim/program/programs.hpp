#pragma once
// Makes the program that every GPU of a scenario runs: picks the schedule of its algorithm and sets its options.
#include "sim/cluster/cluster.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::program {

class ProgramCache;

/// Returns the all-reduce that the scenario names.
AllReduce all_reduce_of(const Scenario& scenario);
/// Returns the input pipeline of one learner, if the node's CPUs pre-process at this rate (0: without limit).
Loading loading_of(const Scenario& scenario, int gpus, int batch_per_gpu, double samples_per_s_per_node);
/// Returns the links and hosts of the cluster that its input crosses.
InputHosts input_hosts_of(const Scenario& scenario);
/// Returns the options of S-SGD, with the scenario's input pipeline and overlap.
SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);
/// Returns the program of the scenario's algorithm. All ranks of that algorithm must run the same program. `cache`: of
/// parts that earlier programs have needed.
Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations,
                      ProgramCache* cache = nullptr);

}  // namespace lockstep::sim::program
