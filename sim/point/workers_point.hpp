#pragma once
// Predicts points whose workers run different programs: backup workers, asynchronous SGD, asynchronous EASGD.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// An iteration is an update (backup workers), or as many steps as there are workers (asynchronous algorithms; the
/// paper calls it an epoch). Replays every message: by SimGrid with fidelity `message`, by flows with any other. The
/// README of sim/scenario describes the details.
///
/// If the times of all servers are identical, one represents all. That requires separate servers, no overlap, a star,
/// and a fidelity other than `message`.
///
/// Interval: the compute part of an iteration varies with the uncertainty of compute, the remaining part with that of
/// bandwidth. The two are added in quadrature.
PointResult predict_workers(const Scenario& scenario, const PointRequest& request);

}  // namespace lockstep::sim::point
