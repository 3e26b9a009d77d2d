#pragma once
// Facts in a log of nccl-tests besides its times. They determine the operation and the number of ranks, and reveal
// wrong options and incomplete logs.
//
//   busbw / algbw   the operation's factor over n ranks (calib/bus_bandwidth.hpp)
//   redop           "none" for operations that only move data, "sum", "max", ... for those that reduce
//   root            -1 for operations without a root rank
//   list of ranks   host, device and PCI bus of each rank; people shorten it, and containers share host names
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::calib {

/// sendrecv_perf: every rank sends to the next one and receives from the one before.
inline constexpr const char* kSendReceive = "send-receive";

/// The names, as in profiles, of the operations whose logs are read.
const std::vector<std::string>& nccl_operations();
/// The operation that a program times: "all-reduce" for all_reduce_perf; empty for other programs.
std::string operation_of_program(const std::string& program);

/// busbw / algbw of a log, with the bounds that the rounding of the printed figures allows.
struct BusRatio {
  double low, middle, high;
  bool fits(double factor) const { return factor >= low && factor <= high; }
};

/// One printed pair of bandwidths in GB/s; `rounding` is half a unit of the last printed digit.
struct RowBandwidths {
  double algbw, busbw, rounding;
};

/// The ratio of the most precise pair near the median. Nullopt if no pair is precise enough to distinguish factors.
std::optional<BusRatio> bus_ratio(const std::vector<RowBandwidths>& pairs);

/// Writes the ratio with four decimals, for messages.
std::string ratio_digits(double ratio);

/// Whether the pair has this factor, within its rounding and 0.2 %.
bool has_factor(const RowBandwidths& pair, double factor);

/// Half a unit of the last digit of a printed number.
double rounding_of(const std::string& printed);

/// The smallest and largest number of ranks, at least 2, for which the operation has the ratio. Nullopt if there is
/// none. The largest is kMostRanks if there is no upper bound.
std::optional<std::pair<int, int>> ranks_with(const BusRatio& ratio, const std::string& operation);

/// Columns of rows that depend on the operation; empty if the log lacks them.
struct RowColumns {
  std::string redop, root;
};

/// True if a log with these columns can be of the operation.
bool columns_allow(const RowColumns& columns, const std::string& operation);

/// Operations that the columns allow and that have the ratio over `ranks`; 0 means any number. An operation that fits
/// only for thousands of ranks, where factors hardly differ, is dropped if others fit.
std::vector<std::string> operations_with(const std::optional<BusRatio>& ratio, const RowColumns& columns, int ranks);

/// Lists the operations of operations_with() for messages, each with the numbers of ranks that fit: "all-reduce on 256
/// ranks, or all-gather on ...". Empty if nothing fits.
std::string readings_of(const BusRatio& ratio, const RowColumns& columns, int ranks);

/// The list "#  Rank  0 Group  0 Pid  101 on  node-0 device  0 [0x0f] NVIDIA H100".
class RankList {
 public:
  /// `device` is its number and bus; empty if the log does not identify it.
  void add(int rank, const std::string& host, const std::string& device);
  void clear() { *this = RankList(); }

  bool is_empty() const { return hosts_.empty(); }
  /// The highest listed rank plus one.
  int ranks() const { return hosts_.empty() ? 0 : hosts_.rbegin()->first + 1; }
  int listed() const { return static_cast<int>(hosts_.size()); }
  int nodes() const { return static_cast<int>(per_host().size()); }
  std::map<std::string, int> per_host() const;
  bool has_repeated_ranks() const { return has_repeated_ranks_; }
  /// "device 0 [0x10] of node-1 is listed as rank 0 and as rank 8"; empty if no device is listed twice.
  const std::string& repeated_device() const { return repeated_device_; }

 private:
  std::map<int, std::string> hosts_;  // by rank
  std::map<std::pair<std::string, std::string>, int> devices_;
  bool has_repeated_ranks_ = false;
  std::string repeated_device_;
};

}  // namespace lockstep::calib
