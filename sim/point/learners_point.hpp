#pragma once
// Points of learners (algorithms "sma" and "ea-sgd"): how many are best, and what the result tells about them.
#include "sim/point/point.hpp"

namespace lockstep::sim {
inline namespace point {

/// One observation of the auto-tuner.
struct Observation {
  int learners;
  double samples_per_s;
};

/// Algorithm 2 inside the simulation (engine/sync/auto_tuner.hpp): `auto_tune->window` iterations with a number of learners
/// on every GPU, a barrier, the decision, the next number; at most as many as fit in memory. Ends when two observations
/// in a row changed nothing. GPUs are alike, so that one decision holds for all. By messages, or by flows where the
/// fidelity is another one.
std::vector<Observation> tune_learners(const Scenario& scenario, int gpus, int batch, std::uint64_t seed,
                                       Fidelity fidelity, const Cluster& cluster);

/// The scenario with the number of learners that the auto-tuner ends at; as it is where it does not ask for one. By
/// messages the tuner's simulation runs in a process of its own. `observed`: what it saw.
Scenario with_tuned_learners(Scenario scenario, const PointRequest& request, std::vector<Observation>& observed);

/// What the result tells about learners: details and notes; compute time and input stalls of a GPU with several.
void describe_learners(const Scenario& scenario, const Program& program, const std::vector<Observation>& observed,
                       const Cluster& cluster, PointResult& point);

}  // namespace point
}  // namespace lockstep::sim
