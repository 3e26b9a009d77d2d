#include "sim/kernel/kernel_law.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim {
inline namespace kernel {
namespace {

// Returns (a^p + b^p)^(1/p) without overflow for numbers of any size.
double smooth_maximum(double a, double b, double sharpness) {
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(1 + std::pow(smaller / larger, sharpness), 1 / sharpness);
}

double roofline_seconds(const RooflineTerms& terms, const KernelWork& work, const KernelPeaks& peaks) {
  const double compute_s =
      work.flop > 0 ? work.flop / (peaks.peak_flop_per_s(work.precision) * terms.compute_share) : 0;
  const double memory_s = work.memory_bytes / (peaks.memory_bytes_per_s * terms.memory_share);
  return terms.start_s + smooth_maximum(compute_s, memory_s, terms.sharpness) +
         work.streamed_bytes / (peaks.memory_bytes_per_s * terms.stream_share);
}

double message_seconds(const MessageTerms& terms, const KernelWork& work) {
  return terms.start_s + terms.hop_s * work.hops + work.memory_bytes / terms.bandwidth_bytes_per_s +
         terms.root_s * std::sqrt(work.memory_bytes);
}

}  // namespace

double KernelPeaks::peak_flop_per_s(KernelPrecision precision) const {
  switch (precision) {
    case KernelPrecision::fp32:
      return fp32_flops;
    case KernelPrecision::tf32:
      return tf32_flops;
    case KernelPrecision::bf16:
      return half_flops;
    case KernelPrecision::fp8:
    case KernelPrecision::fp8_block:
      return fp8_flops;
    case KernelPrecision::nvfp4:
      return fp4_flops;
  }
  return 0;
}

double KernelLaw::plain_seconds(const KernelWork& work, const KernelPeaks& peaks) const {
  return roofline ? roofline_seconds(*roofline, work, peaks) : message_seconds(*message, work);
}

double KernelLaw::seconds(const KernelWork& work, const KernelPeaks& peaks) const {
  double logarithm = 0;
  for (const Correction& correction : corrections) {
    const TableCorners corners = corners_of(correction.axes, work);
    for (int i = 0; i < corners.count; ++i)
      logarithm += 1e-3 * corners.weight[static_cast<std::size_t>(i)] *
                   correction.permille[static_cast<std::size_t>(corners.node[static_cast<std::size_t>(i)])];
  }
  const double at_peak_s = work.flop > 0 ? work.flop / peaks.peak_flop_per_s(work.precision) : 0;
  return std::max(at_peak_s, plain_seconds(work, peaks) * std::exp(logarithm));
}

bool KernelLaw::covers(const KernelWork& work) const {
  for (std::size_t i = 0; i < range.size(); ++i)
    if (work.axes[i] < range[i].low || work.axes[i] > range[i].high) return false;
  return true;
}

TableCorners corners_of(const std::vector<CorrectionAxis>& axes, const KernelWork& work) {
  TableCorners corners;
  corners.count = 1;
  corners.node[0] = 0;
  corners.weight[0] = 1;
  for (const CorrectionAxis& axis : axes) {
    const double place = (std::log2(work.axes[static_cast<std::size_t>(axis.axis)]) - axis.low) / axis.step;
    const double inside = std::clamp(place, 0.0, double(axis.nodes - 1));
    const int below = std::min(static_cast<int>(inside), std::max(0, axis.nodes - 2));
    const double above_weight = axis.nodes > 1 ? inside - below : 0;
    const int before = corners.count;
    for (int i = 0; i < before; ++i) {
      const auto at = static_cast<std::size_t>(i), added = static_cast<std::size_t>(before + i);
      const int node = corners.node[at] * axis.nodes + below;
      corners.node[added] = node + (axis.nodes > 1 ? 1 : 0);
      corners.weight[added] = corners.weight[at] * above_weight;
      corners.node[at] = node;
      corners.weight[at] *= 1 - above_weight;
    }
    corners.count = 2 * before;
  }
  return corners;
}

int node_count(const std::vector<CorrectionAxis>& axes) {
  int count = 1;
  for (const CorrectionAxis& axis : axes) count *= axis.nodes;
  return count;
}

}  // namespace kernel
}  // namespace lockstep::sim
