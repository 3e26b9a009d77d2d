#pragma once
// Learners (algorithms "sma" and "ea-sgd"): from a scenario to their tasks' costs, to how many fit on a GPU, and to how
// many are best.
#include "sim/cost/memory.hpp"
#include "sim/point/point.hpp"
#include "sim/schedule/sma.hpp"

namespace lockstep::sim {

/// Costs of Fig. 8's tasks. Learning: the layers, so that learning and the plain update together last what the
/// scenario's rates say. Each of the others is one kernel over the parameters, which lie together in memory
/// (section 4.4): launch + passes x 4 bytes x parameters / memory bandwidth. Passes: the plain update 3 (gradient and
/// weight read, weight written; 5 with momentum, 7 with LARS), local synchronisation 2 more (average model read,
/// difference written), aggregation of m differences m + 1 (none for one), the average model 5 (sum, z and z_prev read,
/// z and z_prev written), without momentum (EA-SGD) 3. By the host, as the released program does: the differences of m
/// learners are 1 + 4 m kernels, the sum cleared (1 pass), and for each learner its replica copied (2) and three sums
/// (3 each); the average model is 4 kernels, the all-reduce's result cleared (1), momentum added (3), kept (2), and the
/// average moved (3), for EA-SGD the first and the last.
SmaCost sma_cost(const Scenario& scenario, int batch);
SmaOptions sma_options(const Scenario& scenario, int gpus, int batch, int iterations);

/// What a learner needs of the GPU's memory, and how many fit.
LearnerMemory learner_memory(const Scenario& scenario, int batch);
/// Throws std::runtime_error, one line, when the scenario's learners do not fit.
void check_memory(const Scenario& scenario, int batch);

/// One observation of the auto-tuner.
struct Observation {
  int learners;
  double samples_per_s;
};

/// Algorithm 2 inside the simulation (engine/sync/auto_tuner.hpp): `tuner_window` iterations with a number of learners
/// on every GPU, a barrier, the decision, the next number; at most as many as fit in memory. Ends when two observations
/// in a row changed nothing. GPUs are alike, so that one decision holds for all. Runs on `cluster`.
std::vector<Observation> tune_learners(const Scenario& scenario, int gpus, int batch, std::uint64_t seed,
                                       Cluster& cluster);

/// The scenario with the number of learners that the auto-tuner ends at; as it is where it does not ask for one. The
/// tuner's simulation runs in a process of its own. `observed`: what it saw.
Scenario with_tuned_learners(const Scenario& scenario, const PointRequest& request, std::vector<Observation>& observed);

/// What the result tells about learners: details and notes; compute time and input stalls of a GPU with several.
void describe_learners(const Scenario& scenario, const Program& program, const std::vector<Observation>& observed,
                       Cluster& cluster, PointResult& point);

}  // namespace lockstep::sim
