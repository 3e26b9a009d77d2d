#pragma once
// Reads the lines that NCCL and RCCL print with NCCL_DEBUG=INFO, as nccl/src/debug.cc writes them.
// Their form is "HOST:PID:TID [DEVICE] NCCL INFO MESSAGE".
//
// Only messages behind this prefix count, wherever it stands in a line: launchers and tables of other programs may stand
// before it. A message that a cut line or another rank's output breaks off does not match its format, and is skipped.
// The formats are those of NCCL 2.4 to 2.29.
//
//   "NCCL version 2.21.5+cuda12.4" also stands without the prefix.
//   "comm 0x55 rank 0 nranks 16 cudaDev 0 ... - Init COMPLETE" is in src/init.cc.
//   "comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0" exists from 2.19 on.
//   "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>" is in src/transport/net_ib.cc.
//   "NET/IB : No device found." stands in its place without NICs.
//   "NET/Socket : Using [0]eth0:10.0.0.1<0>" is in src/transport/net_socket.cc.
//   "Using network AWS Libfabric" names the choice.
//   "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(3)/GDRDMA/Shared" is in src/transport/net.cc.
//   "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read" is in src/transport/p2p.cc.
//   "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct" is in src/transport/shm.cc.
//   "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'" is in src/graph/topo.cc.
//   "Connected all rings, use ring PXN 0 GDR 1" has both from 2.22 on.
//   "NVLS multicast support is not available on dev 0" is in src/transport/nvls.cc.
//   "16 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels" begins a message of src/init.cc.
//   "Pattern 4, crossNic 0, nChannels 12, bw 40.0/20.0, type NVL/PIX" describes the rings.
//   "AllReduce: 1073741824 Bytes -> Algo NVLS proto SIMPLE" has numbers in place of names up to 2.23.
//   "NCCL_P2P_DISABLE set by environment to 1" repeats a variable.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace lockstep::calib {

/// Where a fact stands for the first time.
struct NcclQuote {
  int line = 0;      ///< from 1; 0: nowhere
  std::string text;  ///< the message, without its prefix
};

/// Channels over one transport. A channel from one GPU to another counts once for each of its lines.
struct NcclChannels {
  int count = 0;
  int gpudirect = 0;  ///< with GPUDirect RDMA; of networks
  NcclQuote first, first_gpudirect;
};

/// Describes the largest communicator in the log.
struct NcclCommunicator {
  int ranks = 0;
  int nodes = 0;          ///< 0: not logged
  bool is_mnnvl = false;  ///< NVLink spans hosts, which NCCL then counts as one node
  NcclQuote first;
};

struct NcclFacts {
  int messages = 0;  ///< lines with NCCL's prefix
  std::string version;
  bool is_rccl = false;
  NcclCommunicator largest;
  std::set<int> sizes;  ///< ranks of all communicators

  std::map<std::string, std::set<std::string>> nics;        ///< by host; behind "NET/IB : Using"
  std::map<std::string, std::set<std::string>> interfaces;  ///< by host; behind "NET/Socket : Using"
  std::map<std::string, NcclQuote> link_types;              ///< of the NICs: "IB", "RoCE"
  NcclQuote first_nics, first_interfaces, no_ib_device;
  std::map<std::string, NcclQuote> networks;           ///< behind "Using network"
  std::map<std::string, NcclChannels> channels;        ///< between nodes, by network: "IB", "Socket", "AWS Libfabric"
  std::map<std::string, NcclChannels> receiving;       ///< ends of channels that receive by RDMA, by host
  std::map<std::string, std::set<int>> used_nics;      ///< by host; numbers behind "via NET/IB/"
  std::map<std::string, std::set<int>> used_channels;  ///< by host; numbers of channels between nodes
  std::map<std::string, std::set<int>> logging_ranks;  ///< by host; ranks whose channels are logged
  std::map<std::string, NcclChannels> local;           ///< within nodes: "P2P", "P2P/indirect", "SHM"

  std::map<bool, NcclQuote> adapters_gpudirect;   ///< "GPU Direct RDMA Enabled|Disabled for HCA"
  std::map<bool, NcclQuote> rings_use_gpudirect;  ///< "Connected all rings, use ring PXN 0 GDR 1"
  std::map<bool, NcclQuote> nvls_support;         ///< "NVLS multicast support is available"
  std::optional<int> nvls_channels;               ///< the most of a communicator
  NcclQuote first_nvls_channels;
  std::map<std::string, NcclQuote> ring_types;          ///< links of rings within a node: "NVL", "PIX", "SYS"
  std::map<std::int64_t, std::string> algorithms;       ///< of all-reduces, by bytes: "RING", "NVLS"
  std::map<std::int64_t, NcclQuote> algorithm_quotes;   ///< likewise
  std::map<std::string, std::string> environment;       ///< values by NCCL_...
  std::map<std::string, NcclQuote> environment_quotes;  ///< likewise

  /// The most NICs that a host has behind "NET/IB : Using"; 0: not logged.
  int most_nics() const;
  int most_interfaces() const;
};

/// True if a line has NCCL's prefix.
bool has_nccl_lines(const std::string& text);

/// True if at least nine of ten lines that are not empty have it: a file of NCCL_DEBUG_FILE.
bool is_nccl_debug_file(const std::string& text);

/// Reads all such lines. A last line without an end is skipped unless it is the only one: it may be cut off.
NcclFacts read_nccl_debug(const std::string& text);

/// Sums the facts up: "NCCL 2.21.5: 16 ranks on 2 nodes, network IB, 8 NICs"; empty without facts.
std::string nccl_facts_text(const NcclFacts& facts);

}  // namespace lockstep::calib
