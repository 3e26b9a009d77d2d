#include "sim/explain/causes.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep::sim::explain {
namespace {

constexpr const char* kVariables = "env | grep -e NCCL -e CUDA";

}  // namespace

const std::vector<Cause>& causes() {
  static const std::vector<Cause> all{
      {CauseId::normal, "as expected", {}, {}},
      {CauseId::sockets,
       "TCP sockets instead of RDMA",
       {2, 4},
       {{kNcclDebug, "the log has \"NET/Socket\" instead of \"NET/IB\""},
        {kVariables, "NCCL_IB_DISABLE is 1 or NCCL_NET is Socket"},
        {"ibstat", "no port is Active"}}},
      {CauseId::fewer_nics,
       "fewer NICs used than a node has",
       {5, 0},
       {{kNcclDebug, "fewer NICs are behind \"NET/IB : Using\" than ls /sys/class/infiniband lists for this network"},
        {kVariables, "NCCL_IB_HCA names fewer NICs"},
        {"nvidia-smi topo -m", "GPUs share their nearest NIC (PIX, PXB) while other NICs have no GPU"}}},
      {CauseId::no_gpudirect,
       "no GPUDirect RDMA: transfers pass host memory",
       {7, 0},
       {{kNcclDebug, "\"GDRDMA\" is missing behind \"via NET/IB\""},
        {kVariables, "NCCL_NET_GDR_LEVEL is LOC or 0"},
        {"lsmod | grep nvidia_peermem", "it prints nothing, and the kernel is older than 5.12 (no DMA-BUF)"}}},
      {CauseId::slow_nic,
       "a NIC, its cable or its PCIe path (ACS) below its rate",
       {3, 0},
       {{"ib_write_bw between each pair of NICs", "a pair is below 90 % of the rate that ibstat prints"},
        {"ibstat", "the rate of a port is below that of the others"},
        {"lspci -vv", "LnkSta of a NIC is below its LnkCap (downgraded)"}}},
      {CauseId::no_peer_access,
       "no peer access between GPUs: copies pass host memory",
       {4, 0},
       {{"nvidia-smi topo -p2p r", "a pair is not OK"},
        {kVariables, "NCCL_P2P_DISABLE is 1"},
        {"p2pBandwidthLatencyTest", "pairs are no faster with P2P enabled than disabled"},
        {"lspci -vvv | grep ACSCtl", "a line has SrcValid+ (ACS is on)"}}},
      {CauseId::pcie_link,
       "PCIe instead of NVLink within a node",
       {0, 0},
       {{"nvidia-smi topo -m", "pairs of GPUs show PIX, PXB, PHB, NODE or SYS instead of NV and a number"},
        {"nvidia-smi nvlink -s", "links are inactive"},
        {"systemctl status nvidia-fabricmanager", "it is not active (running)"}}},
      {CauseId::slow_link,
       "a link within a node below its rate",
       {1, 0},
       {{"nvidia-smi nvlink -s", "a GPU has fewer links, or fewer GB/s in one, than the others"},
        {"nvidia-smi -q during a run", "Current of Link Width or Link Gen is below Max"},
        {"nvbandwidth", "a pair is more than 10 % below the median pair"}}},
      {CauseId::no_nvls,
       "neither NVLink SHARP (NVLS) nor trees: rings alone",
       {3, 0},
       {{kVariables, "NCCL_ALGO is Ring or NCCL_NVLS_ENABLE is 0"},
        {"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING",
         "large messages have the algorithm RING, or NCCL is older than 2.18"}}},
      {CauseId::slow_launch,
       "every operation waits for the host",
       {0, 0},
       {{"nsys profile", "the gaps between the kernels of a stream are longer than 10 us"},
        {kVariables, "CUDA_LAUNCH_BLOCKING is 1 or NCCL_DEBUG is TRACE"},
        {"cpupower frequency-info", "the governor is powersave, or the frequency is below the base frequency"}}},
      {CauseId::low_clocks,
       "GPUs at low clocks, or one slow GPU",
       {0, 1},
       {{"nvidia-smi -q -d CLOCK,PERFORMANCE,POWER on every node during a step",
         "a GPU's SM clock is more than 10 % below the others, or a slowdown is Active"},
        {"a matrix multiplication on each GPU alone", "a GPU takes 5 % longer than the median"}}},
      {CauseId::precision,
       "arithmetic in FP32 or TF32",
       {0, 3},
       {{"a profile", "names of GEMM kernels have sgemm or tf32 instead of bf16 or f16"},
        {"the trainer's options", "neither --bf16 nor --fp16 is set"}}},
      {CauseId::attention,
       "attention without fused kernels",
       {0, 3},
       {{"a profile", "softmax kernels run between GEMMs, and no kernel is named flash or fmha"},
        {"the model's configuration", "attn_implementation is eager, or flash-attn is not installed for this GPU"}}},
      {CauseId::recomputation,
       "activations recomputed in the backward pass",
       {0, 4},
       {{"the trainer's options", "activation checkpointing is on, and the job given here has none"},
        {"a profile", "the backward pass has more than two GEMMs for each GEMM of the forward pass"}}},
      {CauseId::bubble,
       "a pipeline bubble larger than needed",
       {0, 1},
       {{"a profile",
         "the first stage is idle for a larger share than (p - 1) / (m v + p - 1), with p stages, m "
         "micro-batches and v virtual stages"},
        {"twice the micro-batches", "tokens/s rise by more than 5 %"}}},
      {CauseId::no_overlap,
       "communication that does not overlap with computation",
       {0, 0},
       {{"a profile", "no GEMM runs during the NCCL kernels of the backward pass"},
        {"the trainer's options", "--overlap-grad-reduce or --overlap-param-gather is missing"},
        {kVariables, "CUDA_DEVICE_MAX_CONNECTIONS is not 1 (with tensor parallelism)"}}},
      {CauseId::data_loader,
       "steps that wait for data",
       {0, 4},
       {{"the same with synthetic data", "steps become as short as expected"},
        {"nvidia-smi dmon", "utilisation falls to 0 % between steps"},
        {"twice the worker processes", "steps become shorter"}}},
      {CauseId::experts,
       "an uneven load of experts",
       {0, 0},
       {{"tokens of each expert", "the largest number is more than 1.2 times the mean"},
        {"--moe-router-force-load-balancing for a test", "steps become as short as expected"}}},
      {CauseId::pauses,
       "checkpoints or evaluations within the average",
       {0, 0},
       {{"times of single steps", "the median is as expected, and a few steps take several times as long"},
        {"the same without evaluation and checkpoints", "the mean falls to the median"}}}};
  return all;
}

const Cause& cause_of(CauseId id) {
  return *std::find_if(causes().begin(), causes().end(), [&](const Cause& cause) { return cause.id == id; });
}

std::string test_text(const DecidingTest& test) {
  return test.run + ": yes if " + test.yes_if;
}

std::string tests_text(const std::vector<DecidingTest>& tests) {
  std::string text;
  for (const DecidingTest& test : tests) text += (text.empty() ? "" : "; ") + test_text(test);
  return text;
}

double prior_of(CauseId id, const std::vector<CauseId>& applicable, const MeasuredKinds& kinds) {
  constexpr double kNormal = 0.5;
  if (id == CauseId::normal) return applicable.size() > 1 ? kNormal : 1;
  const auto weight_of = [&](CauseId cause) {
    const PriorCases& cases = cause_of(cause).cases;
    return 1.0 + (kinds.has_collectives ? cases.of_collectives : 0) + (kinds.has_trainings ? cases.of_trainings : 0);
  };
  double total = 0;
  for (CauseId other : applicable)
    if (other != CauseId::normal) total += weight_of(other);
  return (1 - kNormal) * weight_of(id) / total;
}

}  // namespace lockstep::sim::explain
