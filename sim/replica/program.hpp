#pragma once
// An iteration of a split as the program that its GPUs run, for replay by messages.
//
// Stages do different things, and a program is the same for all GPUs: it has streams for each stage, whose computing takes no
// time on the GPUs of other stages (their jitter factor is 0) and whose exchanges pass them by. What a GPU does for another
// stage so follows that stage's order at no cost, no later than the stage itself.
//
//   stage        passes block by block: computing, then what the block's tensor and expert ranks exchange
//   ring         of context ranks, beside all but the last step's share of the attention
//   shards       of zero2 and zero3: the next block's weights are gathered beside a block; gradients scattered beside the next
//   exchange     between replicas, and of zero1 and zero2 the weights before the first passes
//   s > s+1      messages of neighbours, a stream each way, one after the other
//
// All GPUs meet before the update, which needs the norm of all gradients, and at the iteration's end. Unlike the closed form
// (iteration.hpp) messages of a pair of stages follow one another, and what meets on a link shares it.
#include "sim/replica/iteration.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replica {

/// With factors of jitter drawn for stages: Program::draws is the stages'. Of so many of the split's replicas; what they
/// exchange with each other has the rounds and bytes of all.
Program split_program(const Scenario& scenario, const SplitModel& model, int iterations, int replicas);

/// The factor of a GPU's own stage; 0 of the others.
Jitter jitter_of_stages(const SplitModel& model, Jitter jitter, int replicas);

/// Messages and pieces of computing that a replay of one iteration goes through.
double events_of(const Program& program);

}  // namespace lockstep::sim::replica
