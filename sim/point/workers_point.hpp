#pragma once
// Points whose workers do not all do the same: backup workers, asynchronous SGD, asynchronous EASGD.
#include "sim/point/point.hpp"

namespace lockstep::sim {
inline namespace point {

/// An iteration is an update (backup workers), or as many steps as there are workers (asynchronous algorithms: what the
/// paper calls an epoch). Message by message, whatever the
/// fidelity: SimGrid's for `message`, else flows. Details are described in the README of
/// sim/scenario. Where servers are exactly alike, one is replayed for all, unless fidelity is `message`: with separate
/// servers, without overlap, on a star. The bounds: the computed share of an iteration is off by the uncertainty of
/// compute, the rest by that of bandwidth, in quadrature.
PointResult predict_workers(const Scenario& scenario, const PointRequest& request);

}  // namespace point
}  // namespace lockstep::sim
