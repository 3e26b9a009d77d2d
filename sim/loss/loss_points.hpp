#pragma once
// Reads runs to which a law of the loss is fitted, from a CSV with a line of column names.
//
//   `parameters`     N, as the law will count them.
//   `tokens`         D.
//   `batch_tokens`   Optional; empty or 0: unknown.
//   `loss`           Nats per token at the end of the run.
//
// Lines that begin with # are comments. Numbers may be written 1.4e12 or 300B.
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::loss {

struct LossPoint {
  double parameters = 0;
  double tokens = 0;
  double batch_tokens = 0;  ///< 0: unknown
  double loss = 0;
};

struct LossTable {
  std::vector<LossPoint> points;
  std::vector<std::string> refused;  ///< "FILE line 12: why", for rows that cannot be used
};

/// Throws InputError if a required column is missing, or no row is usable.
LossTable read_loss_points(const std::string& path);
LossTable parse_loss_points(const std::string& text, const std::string& name);

/// Leaves out runs whose batch is smaller than the best batch at the same N and D, if three or more batches were tried.
/// Their loss is worse because their batch is too small, which the law does not model.
std::vector<LossPoint> without_small_batches(const std::vector<LossPoint>& points);

}  // namespace lockstep::sim::loss
