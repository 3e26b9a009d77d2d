#include "sim/explain/causes.hpp"

#include <algorithm>

namespace lockstep::sim::explain {

const std::vector<Cause>& causes() {
  static const std::vector<Cause> all{
      {CauseId::normal, "as expected", 0, ""},
      {CauseId::sockets, "TCP sockets instead of RDMA", 6,
       "NCCL_DEBUG=INFO: \"NET/Socket\" in place of \"NET/IB\"; ibstat; NCCL_IB_DISABLE and NCCL_NET unset"},
      {CauseId::fewer_nics, "fewer NICs used than a node has", 4,
       "NCCL_DEBUG=INFO: NICs listed behind \"NET/IB : Using\"; nvidia-smi topo -m; NCCL_IB_HCA"},
      {CauseId::no_gpudirect, "no GPUDirect RDMA: transfers pass host memory", 7,
       "NCCL_DEBUG=INFO: \"GDRDMA\" missing behind \"via NET/IB\"; lsmod | grep nvidia_peermem; NCCL_NET_GDR_LEVEL"},
      {CauseId::slow_nic, "a NIC, its cable or its PCIe path (ACS) below its rate", 3,
       "ib_write_bw between each pair of NICs; ibstat (Rate); lspci -vv (LnkSta) of each NIC"},
      {CauseId::no_peer_access, "no peer access between GPUs: copies pass host memory", 3,
       "p2pBandwidthLatencyTest; nvidia-smi topo -p2p r; ACS off (lspci -vvv | grep ACSCtl); NCCL_P2P_DISABLE unset"},
      {CauseId::pcie_link, "PCIe instead of NVLink within a node", 0,
       "nvidia-smi topo -m; nvidia-smi nvlink -s; systemctl status nvidia-fabricmanager"},
      {CauseId::slow_link, "a link within a node below its rate", 1,
       "nvidia-smi nvlink -s; nvidia-smi -q (Link Width, Link Gen); nvbandwidth"},
      {CauseId::no_nvls, "neither NVLink SHARP (NVLS) nor trees: rings alone", 1,
       "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING; NCCL_ALGO and NCCL_NVLS_ENABLE unset; NCCL 2.18 or later"},
      {CauseId::slow_launch, "every operation waits for the host", 0,
       "nsys profile; NCCL_DEBUG and CUDA_LAUNCH_BLOCKING unset; numactl --cpunodebind; cpupower frequency-info"},
      {CauseId::low_clocks, "GPUs at low clocks, or one slow GPU", 0,
       "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER on every node; a matrix multiplication on each GPU alone"},
      {CauseId::precision, "arithmetic in FP32 or TF32", 3,
       "the trainer's --bf16; a profile: names of GEMM kernels; torch.backends.cuda.matmul.allow_tf32"},
      {CauseId::attention, "attention without fused kernels", 2,
       "a profile: softmax kernels between GEMMs; attn_implementation; flash-attn installed for this GPU"},
      {CauseId::recomputation, "activations recomputed in the backward pass", 2,
       "the options of activation checkpointing; a profile: forward kernels within the backward pass"},
      {CauseId::bubble, "a pipeline bubble larger than needed", 1,
       "more micro-batches or virtual stages; a profile: idle time of the first and last stage"},
      {CauseId::no_overlap, "communication that does not overlap with computation", 0,
       "--overlap-grad-reduce, --overlap-param-gather; CUDA_DEVICE_MAX_CONNECTIONS=1; a profile"},
      {CauseId::data_loader, "steps that wait for data", 4,
       "the same with synthetic data; more worker processes; GPU utilisation between steps"},
      {CauseId::experts, "an uneven load of experts", 0,
       "tokens of each expert; --moe-router-force-load-balancing for a test"},
      {CauseId::pauses, "checkpoints or evaluations within the average", 0,
       "times of single steps; the same without evaluation and checkpoints"}};
  return all;
}

const Cause& cause_of(CauseId id) {
  return *std::find_if(causes().begin(), causes().end(), [&](const Cause& cause) { return cause.id == id; });
}

double prior_of(CauseId id, const std::vector<CauseId>& applicable) {
  constexpr double kNormal = 0.5;
  if (id == CauseId::normal) return applicable.size() > 1 ? kNormal : 1;
  double total = 0;
  for (CauseId other : applicable)
    if (other != CauseId::normal) total += 1 + cause_of(other).cases;
  return (1 - kNormal) * (1 + cause_of(id).cases) / total;
}

}  // namespace lockstep::sim::explain
