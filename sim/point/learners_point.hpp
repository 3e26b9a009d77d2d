#pragma once
// Points of learners (algorithms "sma" and "ea-sgd"): the auto-tuner's number of learners, and the result's details.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// Runs Algorithm 2 inside the simulation (engine/sync/auto_tuner.hpp). It simulates `auto_tune->window` iterations
/// with a number of learners on every GPU, waits at a barrier, and decides on the next number. That is at most the
/// number that fits in memory.
///
/// It ends when two observations in a row changed nothing. GPUs are identical, so one decision holds for all. Fidelity
/// `message` replays by messages, others by flows.
std::vector<TunerObservation> tune_learners(const Scenario& scenario, int gpus, int batch, std::uint64_t seed,
                                            Fidelity fidelity, const Cluster& cluster);

/// The scenario with the number of learners at which the auto-tuner ends; unchanged without an auto-tuner. With
/// fidelity `message`, the tuner's simulation runs in a process of its own. `observed` receives the tuner's
/// observations.
Scenario with_tuned_learners(Scenario scenario, const PointRequest& request, std::vector<TunerObservation>& observed);

/// Fills the learners' details and notes, and corrects compute time and input stalls for several learners per GPU.
void describe_learners(const Scenario& scenario, const Program& program, const std::vector<TunerObservation>& observed,
                       const Cluster& cluster, PointResult& point);

}  // namespace lockstep::sim::point
