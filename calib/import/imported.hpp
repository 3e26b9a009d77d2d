#pragma once
// Logs of other tools as samples. One importer per tool; each takes a file's text and its name and gives samples of
// kind "imported" whose source is "FILE line N" (or the place in a JSON file). Rows that cannot be trusted are refused
// with their line and the reason, and the rest is kept; a file without a usable row, or of another format, throws
// InputError in one line.
#include <string>
#include <vector>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct Imported {
  std::vector<Sample> samples;
  DeviceFacts device;
  std::vector<std::string> refused;  ///< "FILE line 12: why"
  std::vector<Json> models;          ///< networks that the log describes, lockstep/model/1
};

/// What a log may not tell; 0 or empty: take it from the log, and fail where it is not there.
struct NcclTestsOptions {
  std::string operation;  ///< "all-reduce", "all-gather", ...
  int ranks = 0;
  int nodes = 0;
};

/// nccl-tests and rccl-tests, text or JSON (-J). Times are those of the log; bandwidths are computed anew from size and
/// time, since two decimals are printed, and a row whose printed algbw disagrees by more than rounding is refused, as are
/// rows with wrong results. Out-of-place and in-place become separate curves ("in_place" in the key). Logs of CPU time (-C)
/// and of aggregated calls (-m, "agg iters" above 1) are refused whole: they do not time one call. busbw / algbw, the
/// columns redop and root, and the list of ranks tell operation, ranks and nodes that are not given; if they contradict the
/// options or each other, the log is refused (nccl_evidence.hpp). sendrecv_perf of two GPUs of a node is a copy both ways.
Imported import_nccl_tests(const std::string& text, const std::string& name, const NcclTestsOptions& options = {});

/// What a log of collectives may not tell.
struct CollectiveLogOptions {
  int ranks = 0;        ///< 0: as the log has it
  int nodes = 0;        ///< 0: one
  std::string library;  ///< empty: "mpi", as the OSU log has it, "gloo"
};

/// The OSU micro-benchmarks ("# OSU MPI Allreduce Latency Test"): blocking collectives, by the slowest rank where it is
/// logged (-f), else by the average; ranks are not logged. Bytes become those that nccl-tests counts. Other benchmarks of
/// the file are left out, and that is said.
Imported import_osu(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});
/// The Intel MPI Benchmarks ("# Benchmarking Allreduce"), t_max, for each number of processes. Over several nodes those
/// of all processes alone: which nodes the others were on is not logged.
Imported import_imb(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});
/// gloo's benchmark, p50, one input and one thread: several at once do not time one call.
Imported import_gloo(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});

/// nvbandwidth, text or JSON (-j): matrices of copy bandwidth become samples of "copy" at the tool's buffer size (512
/// MiB unless the file says otherwise), one per pair; entries of 0 or N/A are no measurements. Of a copy both ways
/// between GPUs half the total is one way's. Tests of latency, of multicast, and of all GPUs to or from one are left
/// out, and that is said.
Imported import_nvbandwidth(const std::string& text, const std::string& name);

/// p2pBandwidthLatencyTest of CUDA's samples: the matrices with peer access as samples of "copy", row to column; half the
/// total of a copy both ways is one way's. GPUs that cannot access each other copy through the host ("engine").
Imported import_p2p_bandwidth(const std::string& text, const std::string& name);

/// nvidia-smi topo -m: how GPUs reach each other and the NICs, as facts of the device: {"topology": {"gpus": [...],
/// "links": {"GPU0-GPU1": "NV18", ...}}}. No samples.
Imported import_topology(const std::string& text, const std::string& name);

/// A PyTorch profiler trace (Chrome trace events): GPU kernel time (of a trace without kernels, that of the outermost
/// operators on the processor) per module of the model and pass, summed over the
/// kernels that a module's operators launched, averaged over the profiled steps (kernels launched outside them are left
/// out; a trace without ProfilerStep has as many steps as the module that ran least often, and that is said). Modules
/// are known by the profiler's "nn.Module: NAME" annotations or record_function ranges "layer: NAME"; backward kernels
/// belong to the forward operator of the same sequence number. `model`, `batch` and `precision` become part of the key.
/// Of a built-in model the modules are matched with its layers, type by type in order; where that fails there are no
/// times by layer. Steps become "iteration" (from one's begin to the next one's), of a process among several "step";
/// kernels of NCCL beside which PyTorch 2 noted what they moved become "collective", their waiting for others included.
struct TorchTraceOptions {
  std::string model;
  int batch = 0;
  std::string precision;
};
Imported import_torch_trace(const std::string& text, const std::string& name, const TorchTraceOptions& options);

/// calib/torch/lockstep_probe.py: its series as samples of kind "measured", with the flags that calibrate's own have
/// (of a series that was measured again the sounder counts, second_look.hpp), its passes as "pass" and "layer", and its
/// network. What a killed run left unfinished is taken as far as it went. Throws InputError with the line.
Imported import_torch_probe(const std::string& text, const std::string& name);

/// Numbers of one's own: comma-separated, a line of column names, '#' before remarks. Training steps have "batch" (per
/// device) and one of "seconds", "ms", "us", "samples_per_s" (of all devices), and may have "devices", "model",
/// "precision"; they become "iteration" of one learner. Collectives have "bytes", "ranks" and one of "seconds", "ms",
/// "us", and may have "nodes", "operation" (all-reduce), "library" (unknown). Rows of the same are a series. Throws
/// InputError with the line.
struct CsvOptions {
  std::string model;      ///< where no column has it
  std::string precision;  ///< likewise; empty: fp32
};
Imported import_csv(const std::string& text, const std::string& name, const CsvOptions& options = {});

}  // namespace lockstep::calib
