#pragma once
// Imports logs of other tools as samples, with one importer per tool. Each reads a file's text and name, and returns
// samples of kind "imported" whose source is "FILE line N" (or the place in a JSON file). Rows that cannot be trusted
// are refused, with their line and the reason; the others are kept. A file without a usable row, or in another format,
// throws InputError with one line.
#include <string>
#include <vector>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct Imported {
  std::vector<Sample> samples;
  DeviceFacts device;
  std::vector<std::string> refused;  ///< "FILE line 12: why"
  std::vector<Json> models;          ///< networks that the log describes, as lockstep/model/1
  std::string job_options;           ///< options of `simulate job` for the training that the log describes
};

/// Facts that a log may lack. 0 or empty: read from the log; the import fails if the log lacks them.
struct NcclTestsOptions {
  std::string operation;  ///< "all-reduce", "all-gather", ...
  int ranks = 0;
  int nodes = 0;
};

/// Imports nccl-tests and rccl-tests, text or JSON (-J). Times are those of the log. Bandwidths are recomputed from
/// size and time, because the log prints only two decimals. Rows with wrong results are refused, and so are rows whose
/// printed algbw differs by more than rounding. Out-of-place and in-place times become separate curves ("in_place" in
/// the key).
///
/// Logs of CPU time (-C) and of aggregated operations (-m, "agg iters" above 1) are refused as a whole, because they do
/// not time single operations. Operation, ranks and nodes that are not given follow from busbw / algbw, from the
/// columns redop and root, and from the list of ranks. If these contradict the options or each other, the log is
/// refused (nccl_evidence.hpp). sendrecv_perf on two GPUs of one node is imported as a copy in both directions.
Imported import_nccl_tests(const std::string& text, const std::string& name, const NcclTestsOptions& options = {});

/// Facts that a log of collectives may lack.
struct CollectiveLogOptions {
  int ranks = 0;        ///< 0: from the log
  int nodes = 0;        ///< 0: one
  std::string library;  ///< empty: "mpi", or as in the OSU log, or "gloo"
};

/// The OSU micro-benchmarks ("# OSU MPI Allreduce Latency Test"): blocking collectives. Uses the slowest rank's time if
/// it is logged (-f), else the average. Ranks are not logged. Bytes are converted to those that nccl-tests counts.
/// Other benchmarks of the file are skipped with a message.
Imported import_osu(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});
/// The Intel MPI Benchmarks ("# Benchmarking Allreduce"): t_max for each number of processes. With several nodes, only
/// rows with all processes are read, because the log does not say on which nodes fewer processes ran.
Imported import_imb(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});
/// gloo's benchmark: p50, with one input and one thread, because several at once do not time single operations.
Imported import_gloo(const std::string& text, const std::string& name, const CollectiveLogOptions& options = {});

/// nvbandwidth, text or JSON (-j). Matrices of copy bandwidth become one sample of "copy" per pair, at the tool's
/// buffer size (512 MiB unless the file has another). Entries of 0 or N/A are no measurements. For copies in both
/// directions between GPUs, one direction gets half the total. Tests of latency, of multicast, and between one GPU and
/// all others are skipped with a message.
Imported import_nvbandwidth(const std::string& text, const std::string& name);

/// p2pBandwidthLatencyTest of CUDA's samples. The matrices with peer access become samples of "copy", from row to
/// column. For copies in both directions, one direction gets half the total. GPUs without peer access copy through the
/// host ("engine").
Imported import_p2p_bandwidth(const std::string& text, const std::string& name);
/// True if the text has its matrix of bandwidths with peer access.
bool is_p2p_bandwidth(const std::string& text);

/// perftest (perftest.hpp): samples of "copy" from "node0" to "node1". "measures" in the key distinguishes bandwidth, at
/// which messages follow each other, from latency. For tests in both directions, one direction gets half the total.
Imported import_perftest(const std::string& text, const std::string& name);

/// Chakra's execution traces (.et): the durations of NCCL's kernels become "collective"; they include waiting for other
/// ranks. Ranks come from the process groups that PyTorch notes, else from the options. Throws InputError if a kernel's
/// name contradicts its type, and for PyTorch's own execution traces (JSON), which have no times.
Imported import_chakra(const std::string& bytes, const std::string& name, const CollectiveLogOptions& options = {});

/// nvidia-smi topo -m: the links between GPUs and to NICs, as facts of the device: {"topology": {"gpus": [...],
/// "links": {"GPU0-GPU1": "NV18", ...}}}. No samples.
Imported import_topology(const std::string& text, const std::string& name);

/// Imports a PyTorch profiler trace (Chrome trace events): GPU kernel time per module of the model and pass. It sums
/// the kernels that a module's operators launched, and averages over the profiled steps. For a trace without kernels,
/// it uses the outermost operators' time on the processor. Kernels launched outside the steps are skipped. A trace
/// without ProfilerStep is taken to have as many steps as runs of its least frequent module; a message says so.
///
/// Modules are recognised by the profiler's "nn.Module: NAME" annotations or by record_function ranges "layer: NAME".
/// Backward kernels belong to the forward operator with the same sequence number. `model`, `batch` and `precision`
/// become part of the key. For a built-in model, modules are matched with its layers, type by type in order; if that
/// fails, there are no times by layer. Steps become "iteration" (from one's start to the next one's start), or "step"
/// in a process among several. NCCL kernels become "collective" if PyTorch 2 noted their operation and size; their time
/// includes waiting for other ranks.
struct TorchTraceOptions {
  std::string model;
  int batch = 0;
  std::string precision;
};
Imported import_torch_trace(const std::string& text, const std::string& name, const TorchTraceOptions& options);

/// Imports the output of calib/torch/lockstep_probe.py. Its series become samples of kind "measured", with the flags of
/// calibrate's own. If a series was measured again, the sounder measurement is used (second_look.hpp). Its passes
/// become "pass" and "layer"; its network is imported, too. The output of a killed run is read as far as it goes.
/// Throws InputError with the line.
Imported import_torch_probe(const std::string& text, const std::string& name);

/// A user's own numbers: comma-separated, with a line of column names; '#' starts a comment. Training steps have
/// "batch" (per device) and one of "seconds", "ms", "us", "samples_per_s" (of all devices), and may have "devices",
/// "model", "precision". They become "iteration" of one learner. Collectives have "bytes", "ranks" and one of
/// "seconds", "ms", "us", and may have "nodes", "operation" (default all-reduce), "library" (default unknown). Rows
/// with the same key form one series. Throws InputError with the line.
struct CsvOptions {
  std::string model;      ///< used if there is no such column
  std::string precision;  ///< likewise; empty: fp32
};
Imported import_csv(const std::string& text, const std::string& name, const CsvOptions& options = {});

}  // namespace lockstep::calib
