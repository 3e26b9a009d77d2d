#pragma once
// Predicts a point under several hash functions of ECMP. A switch hashes a connection once, so a job keeps the
// collisions of its connections for as long as it runs. Which ones collide, nobody knows before: the hash function is a
// random choice of the prediction.
#include <functional>

#include "sim/point/point.hpp"

namespace lockstep::sim::point {

using PredictPoint = std::function<PointResult(const Scenario&, const PointRequest&)>;

/// True if the job's messages cross switches with ECMP and the scenario does not fix the hash function.
bool has_several_hashes(const Scenario& scenario, int gpus);

/// Returns the point of the hash function with the median time (of two, the longer). Its interval also covers the times
/// from the 10 % to the 90 % quantile of the hash functions, in quadrature; a note lists them. Throws InputError for
/// the fidelity `message`, which predicts once in a process.
PointResult predict_median_hash(const Scenario& scenario, const PointRequest& request, const PredictPoint& predict);

}  // namespace lockstep::sim::point
