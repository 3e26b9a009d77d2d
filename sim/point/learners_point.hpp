#pragma once
// Points of learners (algorithms "sma" and "ea-sgd"): the auto-tuner's number of learners, and the result's details.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// Algorithm 2 inside the simulation (engine/sync/auto_tuner.hpp): `auto_tune->window` iterations with a number of learners
/// on every GPU, a barrier, the decision, the next number; at most as many as fit in memory. Ends when two observations
/// in a row changed nothing. GPUs are identical, so one decision holds for all. Replays by messages with the fidelity
/// `message`, otherwise by flows.
std::vector<TunerObservation> tune_learners(const Scenario& scenario, int gpus, int batch, std::uint64_t seed,
                                            Fidelity fidelity, const Cluster& cluster);

/// The scenario with the number of learners that the auto-tuner ends at; unchanged if it has no auto-tuner. By messages
/// the tuner's simulation runs in a process of its own. `observed` receives the tuner's observations.
Scenario with_tuned_learners(Scenario scenario, const PointRequest& request, std::vector<TunerObservation>& observed);

/// Fills the learners' details and notes, and corrects compute time and input stalls for several learners per GPU.
void describe_learners(const Scenario& scenario, const Program& program, const std::vector<TunerObservation>& observed,
                       const Cluster& cluster, PointResult& point);

}  // namespace lockstep::sim::point
