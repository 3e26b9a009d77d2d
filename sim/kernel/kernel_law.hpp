#pragma once
// Predicts one kind of kernel on one GPU by a law that is fitted to measured times (sim/validation/kernel_fit.hpp).
//
// Computing kernels follow a smooth roofline (Williams, Waterman & Patterson 2009) plus a start-up time:
//
//   `t = start + ((F / (P e))^p + (M / (B b))^p)^(1/p) + Q / (B q)`
//
//   F are the FLOP, M the bytes overlapped with them, Q the bytes moved before or after them.
//   P is the peak FLOP/s and B the memory bandwidth, both from the data sheet.
//   The kernel reaches the share e of the peak, and b and q of the bandwidth (above 1 if data stay in the L2 cache).
//   The larger p, the sharper the change from one bound to the other.
//
// Collectives within a node:
//
//   `t = start + hop (n - 1) + W / bandwidth + root sqrt(W)`
//
//   Each of n GPUs sends W bytes. The term sqrt(W) is the time to fill a pipeline whose best number of chunks grows
//   with sqrt(W).
//
// Libraries choose tiles, split-K and kernels for narrow heads by shape, so times are not smooth. Each correction table
// multiplies the law by exp(v / 1000), with v multilinear in the base-2 logarithms of its axes.
#include <array>
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/kernel/kernel_work.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// Data-sheet figures of a GPU that laws use.
struct KernelPeaks {
  double fp32_flops = 0, tf32_flops = 0, half_flops = 0, fp8_flops = 0, fp4_flops = 0;
  double memory_bytes_per_s = 0;

  /// Returns 0 if the GPU lacks the arithmetic.
  double peak_flop_per_s(KernelPrecision precision) const;
};

struct RooflineTerms {
  double start_s = 0;
  double compute_share = 1, memory_share = 1;  ///< e, b; b is above 1 where caches hold operands
  double sharpness = 2;                        ///< p
  double stream_share = 1;                     ///< q
  LOCKSTEP_FIELDS(start_s, compute_share, memory_share, sharpness, stream_share);
};

struct MessageTerms {
  double start_s = 0, hop_s = 0;
  double bandwidth_bytes_per_s = 1;
  double root_s = 0;  ///< s / sqrt(byte)
  LOCKSTEP_FIELDS(start_s, hop_s, bandwidth_bytes_per_s, root_s);
};

/// One axis of a correction table: nodes at 2^low, 2^(low + step), ... Values outside use the nearest node.
struct CorrectionAxis {
  int axis = 0;  ///< index into KernelWork::axes
  double low = 0, step = 1;
  int nodes = 1;
  LOCKSTEP_FIELDS(axis, low, step, nodes);
};

/// 1000 times the natural logarithm of measured over uncorrected time. The last axis varies fastest. There are at most
/// four axes.
struct Correction {
  std::vector<CorrectionAxis> axes;
  std::vector<int> permille;
  LOCKSTEP_FIELDS(axes, permille);
};

/// Errors |predicted / measured - 1| on shapes that the fit did not see. The shipped tables were fitted again
/// afterwards, on all rows.
struct KernelLawError {
  double median = 0;         ///< of absolute errors
  double nine_tenths = 0;    ///< ninetieth percentile of absolute errors
  double low = 1, high = 1;  ///< measured over predicted: tenth and ninetieth percentile
  int rows = 0;
  LOCKSTEP_FIELDS(median, nine_tenths, low, high, rows);
};

struct ShapeRange {
  double low = 0, high = 0;
  LOCKSTEP_FIELDS(low, high);
};

struct KernelLaw {
  std::string name;    ///< kernel_law_name(), such as "gemm/bf16" or "collectives/all_reduce/nccl"
  std::string source;  ///< the measured software
  std::optional<RooflineTerms> roofline;
  std::optional<MessageTerms> message;
  std::vector<Correction> corrections;
  std::vector<ShapeRange> range;  ///< per axis, the range in the fitted rows
  KernelLawError error;
  int rows = 0;  ///< number of fitted rows
  LOCKSTEP_FIELDS(name, source, roofline, message, corrections, range, error, rows);

  /// Returns the seconds without corrections. `peaks` must have the arithmetic.
  double plain_seconds(const KernelWork& work, const KernelPeaks& peaks) const;
  /// Returns the seconds with corrections, at least FLOP / peak. Memory and link bandwidth do not limit them.
  double seconds(const KernelWork& work, const KernelPeaks& peaks) const;
  /// True if the whole shape is in `range`.
  bool covers(const KernelWork& work) const;
};

/// The nodes of a table around a shape, with their weights. They are the corners of one cell.
struct TableCorners {
  int count = 0;
  std::array<int, 16> node{};
  std::array<double, 16> weight{};
};
/// Requires at most four axes.
TableCorners corners_of(const std::vector<CorrectionAxis>& axes, const KernelWork& work);
/// Returns the number of a table's nodes.
int node_count(const std::vector<CorrectionAxis>& axes);

}  // namespace kernel
}  // namespace lockstep::sim
