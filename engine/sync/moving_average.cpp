#include "engine/sync/moving_average.hpp"

namespace lockstep::sync {

MovingAverage::MovingAverage(VectorOps& ops, const DeviceVector& w, double decay)
    : ops_(ops), decay_(decay), average_(ops, w.size()) {
  require(decay >= 0 && decay < 1, "moving average: decay must be in [0, 1)");
  ops_.copy(w.size(), w.data(), average_.data());
}

void MovingAverage::add(const DeviceVector& w) {
  ops_.scale(w.size(), decay_, average_.data());
  ops_.axpy(w.size(), 1 - decay_, w.data(), average_.data());
}

}  // namespace lockstep::sync
