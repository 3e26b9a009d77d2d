#pragma once
// A GPU's name as publications write it, and the GPUs that NVLink joins beyond a node.
//
// Beside a name and its aliases these are read: "HGX B300-SXM-288GB", a name between who makes it, its socket and its memory,
// where both are that GPU's; "Blackwell GPU (B200-SXM-180GB)", of which one side of the bracket is a name; "GB200-NVL72", of
// whose GPUs 72 are joined. Nodes of a rack (trays of 4) are one node to NVLink, so that a cluster of
// such GPUs has larger nodes than are stated.
#include <string>
#include <vector>

#include "sim/catalogue/entries.hpp"

namespace lockstep::sim::job {

struct GpuRead {
  const GpuEntry* entry = nullptr;  ///< null: none is meant, or two
  std::string part;                 ///< of the text, that names it; empty: all of it
  int nvl = 0;                      ///< GPUs that NVLink joins, said by "NVL72"; 0: not said
};
GpuRead read_gpu_name(const Entries<GpuEntry>& gpus, const std::string& text);

/// Why a name is one of a machine that is no GPU ("TPU v5e", "Trainium2", "Gaudi 3"): "a TPU is no GPU, ..."; empty: it is not.
std::string why_no_gpu(const std::string& text);

/// Takes "NVL72" and what separates it off the beginning of a network's text: 72. 0: it does not begin so.
int cut_nvl(std::string& network);

/// What NVLink joins.
struct JoinedNode {
  int gpus = 0;   ///< of a node of the simulated cluster
  int trays = 1;  ///< nodes as stated that it is made of
};
/// Of nodes of `stated` GPUs (> 0): as many as are within `domain` GPUs and divide those of each job, or hold them.
JoinedNode joined_node(int stated, int domain, const std::vector<int>& gpus_of_jobs);

}  // namespace lockstep::sim::job
