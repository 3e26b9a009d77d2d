#pragma once
// Reads the output of perftest, the RDMA benchmarks of linux-rdma: ib_write_bw, ib_read_bw, ib_send_bw and their _lat
// programs. Layouts and units are those of src/perftest_parameters.c (print_full_bw_report(), print_report_lat()):
//
//   "RDMA_Write Bidirectional BW Test"     verb, direction and quantity
//   "Dual-port : OFF  Device : mlx5_0"     and queue pairs, MTU, link type
//   "#bytes ... BW average[MB/sec]"        2^20 bytes/s, also written MiB/sec; Gb/sec are 1.25e8 bytes/s
//   "#bytes ... t_typical[usec]"           median of half a round trip; of a whole one for reads and atomics
//
// BW average equals size x MsgRate. If it does not, the figures have another unit than the header says.
#include <string>
#include <vector>

#include "calib/import/imported.hpp"

namespace lockstep::calib {

enum class TransferQuantity {
  bandwidth,  ///< messages follow each other: the time of one is its bytes over the bandwidth
  latency     ///< one message at a time
};

struct TransferRow {
  double bytes = 0;
  double seconds = 0;  ///< of one message each way
  int line = 0;        ///< in the file, from 1
};

/// One run of a program.
struct TransferTest {
  std::string verb;  ///< "RDMA_Write", "RDMA_Read", "Send", "Atomic"
  TransferQuantity quantity = TransferQuantity::bandwidth;
  bool is_both_ways = false;
  std::string device, link_type;  ///< "mlx5_0"; "IB" or "Ethernet"; empty: not printed
  int mtu_bytes = 0;              ///< 0: not printed
  int ports = 1, queue_pairs = 1;
  std::vector<TransferRow> rows;

  /// A read or an atomic operation asks and is answered, so its latency is a round trip.
  bool is_round_trip() const {
    return quantity == TransferQuantity::latency && (verb == "RDMA_Read" || verb == "Atomic");
  }
  /// "RDMA_Write BW", as its title without direction.
  std::string name() const;
};

/// True if the text has a table of perftest, or is a file of its --out_json.
bool is_perftest(const std::string& text);

/// The runs of a file, at least one, each with at least one row. Lines that are no rows are skipped; `refused` gets
/// rows that are cut off. Throws InputError with file and line for figures that contradict each other or the title.
std::vector<TransferTest> read_perftest(const std::string& text, const std::string& name,
                                        std::vector<std::string>& refused);

}  // namespace lockstep::calib
