#pragma once
// Learners (algorithms "sma" and "ea-sgd"): computes the costs of their tasks, and how many fit on a GPU.
#include "sim/cost/memory.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/sma.hpp"

namespace lockstep::sim::program {

/// Computes the costs of Fig. 8's tasks. Learning and the plain update together take the time of the scenario's rates.
///
/// Each other task is one kernel over the parameters, which are contiguous in memory (section 4.4). It takes launch +
/// passes x 4 bytes x parameters / memory bandwidth. Passes:
/// * Plain update: as in engine/model/optimizer.hpp.
/// * Local synchronisation: 2 more (the average model is read, the difference written). The engine's own kernel adds to
///   the sum in place: 3 more, and no aggregation.
/// * Aggregation of m differences: m + 1; none for a single one.
/// * Average model: 5 (sum, z and z_prev are read, z and z_prev written), or 3 without momentum (EA-SGD).
///
/// If the host synchronises, as in the released program:
/// * The differences of m learners are 1 + 4 m kernels. The sum is cleared (1 pass). For each learner, its replica is
///   copied (2) and three sums are computed (3 each).
/// * The average model is 4 kernels: the all-reduce's result is cleared (1), momentum added (3), the result kept (2);
///   then the average is moved (3). EA-SGD has only the first and the last.
SmaCost sma_cost(const Scenario& scenario, int batch);
SmaOptions sma_options(const Scenario& scenario, int gpus, int batch, int iterations);

/// Returns the GPU memory that a learner needs.
LearnerMemory learner_memory(const Scenario& scenario, int batch);
/// Returns how many learners fit next to the memory that driver and framework reserve. Returns at least one if the
/// scenario ignores memory.
int most_learners(const Scenario& scenario, int batch);

}  // namespace lockstep::sim::program
