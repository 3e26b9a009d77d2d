#pragma once
// Reads a GPU's name as publications write it, and finds the GPUs that NVLink joins across nodes.
//
// A GPU is found by its name, its aliases, and three longer forms:
//   "HGX B300-SXM-288GB"             A name between its maker, socket and memory. Socket and memory must be that GPU's.
//   "Blackwell GPU (B200-SXM-180GB)" A name before or in the brackets.
//   "GB200-NVL72"                    A GPU of a rack in which NVLink joins 72.
// NVLink joins the nodes of a rack (trays of 4 GPUs). The simulated cluster therefore has larger nodes than the job
// says.
#include <string>
#include <vector>

#include "sim/catalogue/entries.hpp"

namespace lockstep::sim::job {

struct GpuRead {
  const GpuEntry* entry = nullptr;  ///< null: none or several match
  std::string part;                 ///< part of the text that names the GPU; empty: all of it
  int nvl = 0;                      ///< number of GPUs that NVLink joins, as in "NVL72"; 0: not given
};
GpuRead read_gpu_name(const Entries<GpuEntry>& gpus, const std::string& text);

/// Returns why a name belongs to a machine that is not a GPU ("TPU v5e", "Trainium2", "Gaudi 3"); empty: it does not.
std::string why_no_gpu(const std::string& text);

/// Removes "NVL72" and the separator after it from the beginning of a network's text, and returns 72. Returns 0 if the
/// text does not begin like that.
int cut_nvl(std::string& network);

/// A node of GPUs that NVLink joins together.
struct JoinedNode {
  int gpus = 0;   ///< GPUs of a node of the simulated cluster
  int trays = 1;  ///< given nodes that NVLink joins into it
};
/// Joins nodes of `stated` GPUs (> 0) into the largest node of at most `domain` GPUs that suits every job. A job must
/// fit into one such node, or fill several of them.
JoinedNode joined_node(int stated, int domain, const std::vector<int>& gpus_of_jobs);

}  // namespace lockstep::sim::job
