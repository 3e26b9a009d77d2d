#pragma once
// Learners (algorithms "sma" and "ea-sgd"): from a scenario to their tasks' costs, and to how many fit on a GPU.
#include "sim/cost/memory.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/sma.hpp"

namespace lockstep::sim::program {

/// Costs of Fig. 8's tasks. Learning: the layers, so that learning and the plain update together last what the
/// scenario's rates say. Each of the others is one kernel over the parameters, which lie together in memory
/// (section 4.4): launch + passes x 4 bytes x parameters / memory bandwidth. Passes: the plain update as
/// engine/model/optimizer.hpp has it, local synchronisation 2 more (average model read, difference written; the
/// engine's own kernel adds to the sum in place, 3 more, and aggregates nothing), aggregation of m differences m + 1
/// (none for one), the average model 5 (sum, z and z_prev read, z and z_prev written), without momentum (EA-SGD) 3. By
/// the host, as the released program does: the differences of m learners are 1 + 4 m kernels, the sum cleared (1 pass),
/// and for each learner its replica copied (2) and three sums (3 each); the average model is 4 kernels, the
/// all-reduce's result cleared (1), momentum added (3), kept (2), and the average moved (3), for EA-SGD the first and
/// the last.
SmaCost sma_cost(const Scenario& scenario, int batch);
SmaOptions sma_options(const Scenario& scenario, int gpus, int batch, int iterations);

/// What a learner needs of the GPU's memory.
LearnerMemory learner_memory(const Scenario& scenario, int batch);
/// How many fit beside what driver and framework reserve; at least one where the scenario ignores memory.
int most_learners(const Scenario& scenario, int batch);

}  // namespace lockstep::sim::program
