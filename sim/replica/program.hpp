#pragma once
// Writes an iteration of a split as the program that its GPUs run, for replay by messages.
//
// A program is the same for all GPUs, but stages run different work. The program therefore has streams for each stage.
// On GPUs of other stages their computing takes no time (the jitter factor is 0), and their exchanges skip these GPUs.
// There the work of another stage follows that stage's order without cost, and no later than in the stage itself.
//
//   `stage`     Passes block by block: computing, then the exchanges of the block's tensor and expert ranks.
//   `ring`      Messages of context ranks, overlapped with all but the last step's share of the attention.
//   `shards`    With zero2 and zero3, the next block's weights are gathered during a block. Gradients are scattered
//               during the next block.
//   `exchange`  Gradients between replicas; with zero1 and zero2 also the weights before the first passes.
//   `s > s+1`   Messages of neighbours, a stream each way, one after the other.
//
// All GPUs meet before the update, which needs the norm of all gradients, and at the iteration's end. Unlike in the
// closed form (iteration.hpp) messages of a pair of stages follow one another, and messages that meet on a link share
// it.
#include "sim/replica/iteration.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replica {

/// Makes the program of `replicas` of the split's replicas. Their exchanges with each other have the rounds and bytes
/// of all replicas. Jitter factors are drawn for stages: Program::draws is the number of stages.
Program split_program(const Scenario& scenario, const SplitModel& model, int iterations, int replicas);

/// The factor of a GPU for its own stage; 0 for other stages.
Jitter jitter_of_stages(const SplitModel& model, Jitter jitter, int replicas);

/// Counts the messages and pieces of computing that a replay of one iteration processes.
double events_of(const Program& program);

}  // namespace lockstep::sim::replica
