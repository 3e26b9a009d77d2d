#include "sim/stack/priors.hpp"

#include <stdexcept>

namespace lockstep::sim {
inline namespace stack {
namespace {

constexpr double kAny = 1e9;
constexpr double kMostSpeed = 1.6;        // times 0.6 of the peak: 0.96
constexpr double kMostOfLine = 0.97;      // headers and gaps leave 0.94 of frames of 1,500 bytes, 0.99 of 9,000
constexpr double kMostMemorySpeed = 1.2;  // times 0.8 of the bandwidth: 0.96

}  // namespace

const std::vector<Prior>& priors() {
  static const std::vector<Prior> all{
      {"kernel launch", "graphs", 2e-6, 1e-5, 0.5, 0.5,
       "kernels of a CUDA graph, or of a queue that is never empty, follow each other within one to three us"},
      {"kernel launch", "", 20e-6, 1.2e-4, 0.6, 0.5, "an operation of a framework costs five to tens of microseconds"},
      {"host launch", "", 30e-6, 2e-4, 0.5, 0.5, "a framework enqueues an operation of several kernels in 10 to 50 us"},
      {"memory speed", "", 1, kMostMemorySpeed, 0.3, 0.25, "0.8 of the data sheet's bandwidth, as copies reach"},
      {"speed of experts", "", 0.9, 1.2, 0.2, 0.15, "software's experts over TensorRT-LLM's, which were timed"},
      {"speed of software/", "/sequences", 1, kAny, 0.25, 0.15,
       "memory-bound passes as fast as others'; software differs by what it fuses"},
      {"speed of software/", "", 1, kAny, 0.15, 0.15, "no slower than others"},
      {"speed of family/", "", 1, kAny, 0.12, 0.12, "as other networks"},
      {kSpeedOnAmd, "", 0.6, 1.05, 0.35, 0.15,
       "an H100 sustains 0.73; plain PyTorch on an MI300X reaches 0.56 of an H200's share of the peak (an 8B model at "
       "1 / 1.36 "
       "of its speed with 1.32 of its peak: alpharomercoma/MI300X-vs-H200, REPORT.md); tuned software, most of it"},
      {kTuningOnAmd, "", 1, kAny, 0.27, 0.15,
       "as well tuned as the software of AMD's own results; plain PyTorch reaches 0.56 of the peak's share, an H100 "
       "0.73"},
      {"speed/carried", "", 0.75, 1.05, 0.25, 0.15,
       "shares of peaks of another generation; clocks under sustained power"},
      {"speed/sustained", "", 0.9, 1.05, 0.1, 0.1,
       "clocks under sustained power: 0.82 to 0.94 of bursts on B200 and GB200 (results/kernels)"},
      {"speed/", "fp32", 1, kMostSpeed, 0.3, 0.25, "0.6 of the peak; more is Winograd's"},
      {"speed/", "", 1, kMostSpeed, 0.3, 0.15, "0.6 of the peak"},
      {kSlowdownByExchanges, "", 1.1, 1.5, 0.08, 0.08,
       "computing that collectives overlap takes 1.19 times as long on average, 1.4 at most (arXiv 2507.03114), with "
       "the "
       "multiprocessors that their kernels hold"},
      {kAllToAllShare, "", 0.8, 1, 0.2, 0.2,
       "64 H800 reach half of their NICs with 8 MB (github.com/NVIDIA/nccl issue 1531), and H100s nearly all with "
       "gigabytes (github.com/NVIDIA/nccl-tests issue 267)"},
      {"epochs at small batch", "", 40, kAny, 0.3, 0.15, "ResNet-50 to 75.9 % in MLPerf v0.7 and later: 35 to 45"},
      {"critical batch", "", 45000, kAny, 0.5, 0.3,
       "ResNet-50: twice the epochs of a small batch at 32 to 64 thousand images"},
      {"link share", "nvlink", 0.97, 1, 0.1, 0.15,
       "of what NCCL counts of its links, which calls of gigabytes come near"},
      {"link share", "", 0.9, 1.08, 0.15, 0.2,
       "of the catalogue's bandwidth, which 12 GB/s of a slot's 12 to 13 may pass"},
      {"network share/rdma/nccl/plugin/", "", 0.97, 1.06, 0.35, 0.35,
       "clouds' plugins differ by what they can do: one that reads GPU memory reaches a line's rate, others a third"},
      {"network share/rdma/nccl/by host memory", "", 0.97, 1.06, 0.35, 0.35, "a copy through host memory beside"},
      {"network share/rdma", "", 0.97, 1.06, 0.15, 0.15, "of the catalogue's bandwidth, 0.94 of a line's rate"},
      {"network share", "", 0.8, kMostOfLine, 0.2, 0.15, "TCP reaches 0.7 to 0.9 of a line rate"},
      {"network hop/plugin", "", 75e-6, kAny, 0.6, 0.5,
       "what aws-ofi-nccl tells NCCL of p4d, p4de, p5 (platform_data_map, latency); 150 us of p3dn, others' 10 to 500 "
       "us"},
      {"network hop", "", 2e-6, kAny, 0.5, 0.3, "two switches and the adapters' software"},
      {"call/tables/", "", 5e-6, kAny, 0.7, 0.6, "a launch, of any GPU"},
      {"call", "tables", 5e-6, kAny, 0.7, 0.4, "a launch; what the call itself takes is in NCCL's tables"},
      {"call", "", 30e-6, kAny, 0.7, 0.4, "from a framework to its collective and back"},
      {"message", "", 5e-6, kAny, 0.7, 0.4, "a step of NCCL's protocols takes 1 to 10 us"},
      {"host copies", "", 3e9, kAny, 0.4, 0.3, "bytes/s to pageable memory, servers of 2012 to 2015"},
      {"images decoded", "", 5000, kAny, 0.5, 0.4,
       "30 to 60 cores of a node decode and augment some 100 images/s each"},
      {"jitter", "", 0.01, 0.03, 0.5, 0.4, "a GPU of its own varies by 1 to 2 %; more is something else's fault"},
      {"evaluation share", "", 0.03, 0.15, 0.5, 0.3,
       "of a training's samples: 50 thousand images after an epoch, and restarts"},
      {"training over fastest split", "", 1.15, kAny, 0.15, 0.15,
       "authors' splits are 5 to 14 % slower than the fastest (results/history.md); stages and stops that nobody "
       "counts"},
      {"training over benchmark", "", 1.05, 2, 0.1, 0.2,
       "evaluations of some per cent, and what a benchmark leaves out; less where both are the same code"}};
  return all;
}

const Prior& prior_of(const std::string& constant) {
  for (const Prior& prior : priors())
    if (constant.rfind(prior.prefix, 0) == 0 && constant.find(prior.part) != std::string::npos) return prior;
  throw std::logic_error("a constant without a usual value: " + constant);
}

}  // namespace stack
}  // namespace lockstep::sim
