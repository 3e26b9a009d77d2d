#pragma once
// Predicts points whose workers run different programs: backup workers, asynchronous SGD, asynchronous EASGD.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// An iteration is an update (backup workers), or as many steps as there are workers (asynchronous algorithms: an epoch in
/// the paper's words). Replays every message: by SimGrid with the fidelity `message`, by flows with any other. The README
/// of sim/scenario describes the details. One server is replayed for all if their times are identical: separate servers,
/// no overlap, a star, and a fidelity other than `message`. Interval: the compute part of
/// an iteration varies with the uncertainty of compute, the remaining part with the uncertainty of bandwidth. The two are
/// added in quadrature.
PointResult predict_workers(const Scenario& scenario, const PointRequest& request);

}  // namespace lockstep::sim::point
