// Interruptions and goodput of published runs from their published inputs, each by its own rate, and with that rate
// held out. With LOCKSTEP_UPDATE=1 it writes the tables of results/validation/failures.md, including misses.
#include <cmath>
#include <cstdio>

#include "sim/failures/failure_spec.hpp"
#include "tests/base/committed.hpp"
#include "tests/catch.hpp"
#include "tests/failures/hours.hpp"

namespace lockstep::tests {
namespace {

struct Fleet {
  const char* name;
  double per_node_day;
};

// Counts interruptions per node and day; a node has 8 GPUs.
constexpr int kFleets = 4;
const Fleet kFleet[kFleets] = {{"Llama 3", 419. / (54 * 2048)},  // arXiv 2407.21783: unexpected, 54 days, 16,384 H100
                               {"RSC-1", 6.50e-3},               // arXiv 2410.21680
                               {"RSC-2", 2.34e-3},               // the same
                               {"FT-HSDP", 2.3e-3}};             // arXiv 2602.00277
enum { kLlama, kRsc1, kRsc2, kHsdp };

// Returns the estimate for a fleet without data: the geometric mean of the others.
double rate_without(int left_out) {
  double logs = 0;
  for (int fleet = 0; fleet < kFleets; ++fleet)
    if (fleet != left_out) logs += std::log(kFleet[fleet].per_node_day) / (kFleets - 1);
  return std::exp(logs);
}

double mttf_h(double per_node_day, int nodes) {
  return 24 / (per_node_day * nodes);
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// Published mean times to failure of whole jobs, and the fleet whose rate is compared with them.
struct Lifetime {
  const char* what;
  int nodes;
  double mttf_h;
  int fleet;
};
const Lifetime kLifetimes[] = {
    {"Llama 3, 16,384 GPUs", 2048, 54 * 24 / 419., kLlama}, {"RSC-1, 8 GPUs, measured", 1, 47.7 * 24, kRsc1},
    {"RSC-1, 1,024 GPUs, measured", 128, 7.9, kRsc1},       {"RSC-1, 16,384 GPUs, projected", 2048, 1.8, kRsc1},
    {"RSC-1, 131,072 GPUs, projected", 16384, 0.23, kRsc1}, {"FT-HSDP, 98,304 GPUs", 12288, 18 / 60., kHsdp}};

// A published goodput, or effective training time, with published facts. Facts that are not given are defaults.
struct Published {
  const char* what;
  const char* inputs;
  double share;
  bool is_least;  ///< "over 90 %"
  int fleet;      ///< index of the fleet whose rate it uses; -1: its source has a rate for this value only
  sim::FailureProcess process;
  int nodes = 0;  ///< number for its MTTF by a rate; 0: the process has the MTTF
};

sim::FailureProcess process(double interval_s, double checkpoint_s, double restart_s, double mttf_s = 0) {
  sim::FailureProcess p;
  p.mttf_s = mttf_s;
  p.interval_s = interval_s;
  p.checkpoint_s = checkpoint_s;
  p.restart_s = restart_s;
  return p;
}

sim::FailureSpec by_default() {
  JsonDocument document = JsonDocument::parse(R"({"failures": {}})", "defaults");
  sim::failures_format().complete(document, "/failures");
  return sim::failures_format().read(document.root().at("failures"));
}

// Llama 3 has 405 billion parameters in single precision with the two moments of Adam. Only the times of a checkpoint and
// a restart are used: no job waits for a node here.
sim::FailureProcess llama_process() {
  const sim::FailureSpec spec = by_default();
  return sim::process_of(spec, {2048, 8, 405e9 * 12, 5});
}

// An interval of 0 means the best interval, as in the source.
const std::vector<Published>& published() {
  static const std::vector<Published> all{
      {"Llama 3 405B, 16,384 GPUs, 54 days", "4.9 TB of state", 0.90, true, kLlama,
       process(0, llama_process().checkpoint_s, llama_process().restart_s), 2048},
      {"RSC-1, runs of 2,048 to 4,096 GPUs, mean", "a checkpoint an hour, restart 5 min", 0.90, true, kRsc1,
       process(kHour_s, 0, 5 * kMinute_s), 384},
      {"the same at the measured 23.7 interruptions", "a checkpoint an hour, restart 5 min", 0.90, true, -1,
       process(kHour_s, 0, 5 * kMinute_s, 7.9 * 128 / 384 * kHour_s), 0},
      {"RSC-1, 16,384 GPUs, projected", "checkpoints every 5 min overlapped with training, restart 5 min", 0.93, false,
       kRsc1, process(5 * kMinute_s, 0, 5 * kMinute_s), 2048},
      {"RSC-1, 12,000 GPUs, projected", "checkpoints of 10 s, restart 5 min", 0.90, false, kRsc1,
       process(0, 10, 5 * kMinute_s), 1500},
      {"RSC-1, 12,000 GPUs at 1 failure per 1,000 node-days, projected", "checkpoints of 5 min, restart 5 min", 0.90,
       false, -1, process(0, 5 * kMinute_s, 5 * kMinute_s, kDay_s / (1e-3 * 1500)), 0},
      {"RSC-2's rate on 100,000 GPUs, projected", "checkpoints every 2 min overlapped with training, restart 2 min",
       0.90, false, kRsc2, process(2 * kMinute_s, 0, 2 * kMinute_s), 12500},
      {"98,304 GPUs, all stop together (baseline of FT-HSDP)", "a failure every 18 min, each stops all for 10 min",
       0.44, false, -1, process(5, 0, 10 * kMinute_s, 18 * kMinute_s), 0},
      {"98,304 GPUs with FT-HSDP", "a failure every 18 min, each stops all for 3 min", 0.80, false, -1,
       process(5, 0, 3 * kMinute_s, 18 * kMinute_s), 0}};
  return all;
}

double predicted(const Published& run, double per_node_day) {
  sim::FailureProcess p = run.process;
  if (run.nodes > 0) p.mttf_s = kDay_s / (per_node_day * run.nodes);
  if (p.interval_s <= 0) p.interval_s = sim::best_interval_s(p.mttf_s, p.checkpoint_s);
  return sim::goodput(p).share;
}

double by_own_rate(const Published& run) {
  return predicted(run, run.fleet < 0 ? 0 : kFleet[run.fleet].per_node_day);
}

// Returns the error in percentage points; against a bound, only if it is broken.
double error_of(const Published& run, double share) {
  return run.is_least && share > run.share ? 0 : 100 * (share - run.share);
}

std::string lifetimes_text() {
  std::string text =
      "| Run | published | predicted from its fleet's rate | predicted from the other fleets | published / from the "
      "others |\n|---|---:|---:|---:|---:|\n";
  for (const Lifetime& run : kLifetimes) {
    const double left_out_h = mttf_h(rate_without(run.fleet), run.nodes);
    text += std::string("| ") + run.what + " | " + format("%.2f h", run.mttf_h) + " | " +
            format("%.2f h", mttf_h(kFleet[run.fleet].per_node_day, run.nodes)) + " | " + format("%.2f h", left_out_h) +
            " | " + format("%.2f", run.mttf_h / left_out_h) + " |\n";
  }
  return text;
}

std::string others_text() {
  std::string text = "| Predicted | from | predicted by 1 / nodes | published | error |\n|---|---|---:|---:|---:|\n";
  for (const auto& [to, from] : {std::pair{1, 2}, {2, 1}, {3, 4}, {4, 3}, {2, 3}, {3, 2}}) {
    const Lifetime &a = kLifetimes[to], &b = kLifetimes[from];
    const double hours = b.mttf_h * b.nodes / a.nodes;
    text += std::string("| ") + a.what + " | " + b.what + " | " + format("%.2f h", hours) + " | " +
            format("%.2f h", a.mttf_h) + " | " + format("%+.0f %%", 100 * (hours / a.mttf_h - 1)) + " |\n";
  }
  return text;
}

std::string goodputs_text() {
  std::string text =
      "| Run | published inputs | published | predicted from its fleet's rate | error | predicted from the other "
      "fleets "
      "| error |\n|---|---|---:|---:|---:|---:|---:|\n";
  const auto points = [](double error) {
    return error == 0 ? std::string("within the bound") : format("%+.1f points", error);
  };
  for (const Published& run : published()) {
    const double own = by_own_rate(run);
    text += std::string("| ") + run.what + " | " + run.inputs + " | " + (run.is_least ? "over " : "") +
            format("%.0f %%", 100 * run.share) + " | " + format("%.1f %%", 100 * own) + " | " +
            points(error_of(run, own)) + " | ";
    if (run.fleet < 0) {
      text += "no other rate applies | |\n";
      continue;
    }
    const double left_out = predicted(run, rate_without(run.fleet));
    text += format("%.1f %%", 100 * left_out) + " | " + points(error_of(run, left_out)) + " |\n";
  }
  return text;
}

std::string document() {
  return R"(# Interruptions and goodput of published runs

`test_failures` writes this page. Four fleets published how often a training was interrupted, per 1,000 nodes of 8 GPUs
and day: Llama 3 3.79, RSC-1 6.50, RSC-2 2.34, FT-HSDP 2.30. Each run is predicted twice: from its own fleet's rate, and
from the geometric mean of the other three. The second is what a user with an unknown fleet gets. We read the figures of
RSC and FT-HSDP in excerpts and summaries, not in the papers themselves.

## Mean time between interruptions of a whole job

24 h / (rate x nodes).

)" + lifetimes_text() +
         R"(
Llama 3's first figure is no prediction, because its rate comes from this run. Two runs differ from their own fleet's
rate:

- **RSC-1's rate predicts 3.2 and 3.65 times its measured times.** The two measured times agree with each other within
  13 %, if time scales with 1 / nodes. They mean 21.0 and 23.7 interruptions per 1,000 node-days. The paper's
  projections use 6.50 and follow it within 2 %. The paper seems to count two kinds of failures; the figures do not say
  how they differ. Lockstep's default is Llama 3's 3.79, below both. To match RSC-1's users, set `per_node_day` to 0.02.
- **FT-HSDP's published time between failures is 18 minutes.** The failure rate of its own fleet predicts 51 minutes,
  2.8 times as long. The paper gives that rate for servers of a fleet of 32,000 GPUs. One possible reason, which nobody
  measured: a job of 98,304 GPUs has more shared parts that can fail.

RSC-1's times, each predicted from another one:

)" + others_text() +
         R"(
## Goodput

Goodput is the share of time in which a training makes progress. It is computed in closed form
([goodput.hpp](../../sim/failures/goodput.hpp)). If no checkpoint interval is published, the best one is used. No job
waits for a spare node. "Within the bound" means that the prediction is over the published "over 90 %".

)" + goodputs_text() +
         R"(
- **Llama 3**: neither checkpoints nor restarts are published. The plan's defaults are used: 2 GB/s per node to the
  storage, and 15 min to recover. Spare nodes are assumed to be ready, because the cluster had about 950 nodes that the
  job did not use.
- **RSC-1, 2,048 to 4,096 GPUs**: 384 nodes are assumed, the middle of the range, and checkpoints that cost no time.
  With the lower rate the prediction is within the bound. With the measured rate it is 10 points below the bound.
- **RSC-1's 12,000 GPUs, RSC-2's 100,000**: the paper rounds the result (0.9) and the inputs ("about" 10 s, 1 failure,
  2 minutes).
- **The goodput of FT-HSDP's baseline is predicted 13 points too high.** The paper's 18 minutes between failures include
  the stop of 10 minutes: 1 - 10/18 = 44 %. Lockstep counts 18 minutes of running, and then a stop that another failure
  can prolong: 1 / e^(10/18) = 57.4 %. A checkpoint every 5 s, which this page assumes, makes it 57.2 %. If stops are
  short compared with the time between failures, both ways of counting agree.

ByteRobust's effective training times (97 % dense, 91 % experts) are not predicted. We do not know its checkpoint and
restart times.

Sources: arXiv 2407.21783 (Llama 3), 2410.21680 (RSC), 2602.00277 (FT-HSDP), 2509.16293 (ByteRobust).
)";
}

}  // namespace

TEST_CASE("published goodputs follow from their published inputs") {
  for (const Published& run : published()) {
    INFO(run.what);
    // The document says why two are missed.
    const std::string what = run.what;
    const bool is_missed = what == "the same at the measured 23.7 interruptions" ||
                           what == "98,304 GPUs, all stop together (baseline of FT-HSDP)";
    CHECK(std::abs(error_of(run, by_own_rate(run))) < (is_missed ? 14 : 5));
    // Rates of fleets differ by a factor of 2.8.
    if (run.fleet >= 0) CHECK(std::abs(error_of(run, predicted(run, rate_without(run.fleet)))) < 6);
  }
}

TEST_CASE(
    "RSC's measured times agree with each other as one over the nodes, its projections with its rate; no rate does "
    "both") {
  CHECK(mttf_h(kFleet[kRsc1].per_node_day, 2048) == Approx(1.8).epsilon(0.02));
  CHECK(mttf_h(kFleet[kRsc1].per_node_day, 16384) == Approx(0.23).epsilon(0.03));
  CHECK(47.7 * 24 / 128 == Approx(7.9).epsilon(0.14));
  CHECK(mttf_h(kFleet[kRsc1].per_node_day, 128) / 7.9 == Approx(3.65).epsilon(0.02));
}

TEST_CASE("the committed table of published runs is what is computed") {
  check_committed("results/validation/failures.md", document());
}

}  // namespace lockstep::tests
