#pragma once
// Learners (algorithms "sma" and "ea-sgd"): computes the costs of their tasks, and how many fit on a GPU.
#include "sim/cost/memory.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/sma.hpp"

namespace lockstep::sim::program {

/// Computes the costs of Fig. 8's tasks. Learning and the plain update together take the time of the scenario's rates.
///
/// Each other task is one kernel over the parameters, which lie together in memory (section 4.4): launch + passes x 4
/// bytes x parameters / memory bandwidth. Passes:
/// * Plain update: as in engine/model/optimizer.hpp.
/// * Local synchronisation: 2 more (average model read, difference written). The engine's own kernel adds to the sum in
///   place, 3 more, and does not aggregate.
/// * Aggregation of m differences: m + 1, none for one.
/// * Average model: 5 (sum, z and z_prev read, z and z_prev written), without momentum (EA-SGD) 3.
///
/// By the host, as the released program does:
/// * The differences of m learners are 1 + 4 m kernels. The sum is cleared (1 pass). For each learner, its replica is
///   copied (2) and three sums are computed (3 each).
/// * The average model is 4 kernels: the all-reduce's result cleared (1), momentum added (3), kept (2), and the average
///   moved (3). For EA-SGD it is the first and the last.
SmaCost sma_cost(const Scenario& scenario, int batch);
SmaOptions sma_options(const Scenario& scenario, int gpus, int batch, int iterations);

/// Returns the GPU memory that a learner needs.
LearnerMemory learner_memory(const Scenario& scenario, int batch);
/// Returns how many learners fit next to the memory that driver and framework reserve; at least one if the scenario
/// ignores memory.
int most_learners(const Scenario& scenario, int batch);

}  // namespace lockstep::sim::program
