#pragma once
// Factors of compute times. All work of a GPU in one draw has the same factor, which is drawn once.
#include <vector>

#include "engine/base/index.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

class GpuJitter {
 public:
  GpuJitter(const Jitter& jitter, int gpus) : jitter_(jitter), latest_(to_index(gpus)) {}

  /// Returns the GPU's factor, and keeps it until another of its draws is requested.
  double find_factor(int gpu, int draw) {
    Latest& latest = latest_[to_index(gpu)];
    if (latest.draw != draw) latest = {draw, jitter_(gpu, draw)};
    return latest.factor;
  }

 private:
  struct Latest {
    int draw = -1;
    double factor = 1;
  };
  const Jitter& jitter_;
  std::vector<Latest> latest_;  // by GPU
};

}  // namespace lockstep::sim::replay
