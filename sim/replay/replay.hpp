#pragma once
// Runs a program on a cluster and reports when everything happened. Three fidelities:
//
//   `message`   Every message goes through SimGrid's flow model, with an actor per GPU and stream. This is the
//               reference.
//   `fast`      The same times without the messages, by a max-plus recurrence over the ranks' arrival times. Rank r
//               enters a round at x[r]. A transfer r -> s of b bytes ends at max(x[r], x[s]) + latency + b/bandwidth. A
//               rank leaves the round when the last of its transfers ends. SimGrid computes the same, as long as no two
//               flows meet on a link that cannot carry both. This is checked for every transfer; if it fails, the
//               program is replayed message by message, as flows (replay_flows; see Replay::method). If messages are
//               too many for that, links are divided round by round (replay_shared_rounds), which is approximate.
//               Rounds of one pattern are folded: once a round delays all its ranks by the same time, so do all later
//               ones.
//   `analytic`  Closed form. Ranks run in lockstep, with a barrier after every phase. Flows that meet in a phase share
//               their link evenly. Compute jitter is the expected maximum over the GPUs. Copies of input over links run
//               for all GPUs at once; link_queue.hpp says how they share links with collectives.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/shared_vector.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Messages of a collective between one GPU and a peer, from the GPU's start of their first round to its end of the
/// last.
struct Exchange {
  int work;  ///< index in Program::work
  int peer;
  bool is_send;
  std::int64_t bytes;  ///< of all messages together
  int messages;
  double start_s;
  double end_s;
};

/// When one GPU started and ended each work of the program, and its exchanges.
struct GpuTimeline {
  int gpu;
  std::vector<double> start_s;  ///< by index of Program::work
  std::vector<double> end_s;
  std::vector<Exchange> exchanges;

  /// Adds an exchange, or extends the last one of the same work, peer and direction.
  void add(const Exchange& exchange);
};

/// The algorithm that computed a replay's times.
enum class ReplayMethod { messages, fair_flows, max_plus, shared_rounds, closed_form };

inline const Choices<ReplayMethod>& choices_of(ReplayMethod) {
  static const Choices<ReplayMethod> all{{ReplayMethod::messages, "messages"},
                                         {ReplayMethod::fair_flows, "fair flows"},
                                         {ReplayMethod::max_plus, "max-plus"},
                                         {ReplayMethod::shared_rounds, "max-plus, links shared round by round"},
                                         {ReplayMethod::closed_form, "closed form"}};
  return all;
}

struct [[nodiscard]] Replay {
  std::vector<double> iteration_end_s;      ///< per iteration, the last GPU's end
  std::vector<double> compute_s;            ///< per iteration, busy compute time, mean over GPUs
  std::vector<double> slowed_s;             ///< per iteration, part of compute_s lost to collectives in flight
  std::vector<double> input_wait_s;         ///< per iteration, compute waiting for input, mean over GPUs
  std::vector<std::vector<double>> ends_s;  ///< per iteration, every GPU's end; kept if requested
  std::vector<GpuTimeline> timelines;       ///< of the requested GPUs
  std::int64_t events = 0;                  ///< messages and compute steps that were replayed one by one
  ReplayMethod method = ReplayMethod::closed_form;
  std::string links_dump;  ///< links, their loads and messages at the requested time
};

class UnitClasses;

struct ReplayOptions {
  std::vector<int> timeline_gpus;
  bool keep_ends = false;
  std::optional<double> dump_links_at_s;  ///< fills Replay::links_dump; only in replay_flows()
  /// PlanCosts::units of a program with the same plans on the same cluster, so that a replay need not find them again.
  std::shared_ptr<const UnitClasses> units{};
};

/// An empty replay of the program: zeros for every iteration, and empty timelines of the requested GPUs.
Replay begin_replay(const Program& program, ReplayMethod method, const ReplayOptions& options = {});
/// By GPU, the index of its timeline in Replay::timelines; -1 if none was requested.
std::vector<int> timelines_by_gpu(const Program& program, const ReplayOptions& options);

/// Makes a program of a plan. A rank arrives when its compute of 1 s times its jitter ends, and leaves at the end of
/// the only iteration.
Program program_of_plan(const Plan& plan, double reduction_rate);

/// Replays message by message on SimGrid, in the process's one simulation. Another program on the same cluster begins
/// when the previous one has ended, and its times continue from there.
Replay replay_messages(const Program& program, const Cluster& cluster, const Jitter& jitter,
                       const ReplayOptions& options = {});

/// Replays message by message as flows of fair_flows.hpp: the same times as SimGrid's, but faster. Time grows with the
/// number of messages (and the logarithm of those in flight), memory with the GPUs' transfers per round.
Replay replay_flows(const Program& program, const Cluster& cluster, const Jitter& jitter,
                    const ReplayOptions& options = {});

/// A job on a cluster that it shares. The clusters of jobs that are replayed together differ in nodes_used and overhead
/// of messages only; their nodes are different ones.
struct JobToReplay {
  const Program* program;
  const Cluster* cluster;
  const Jitter* jitter;
  double start_s;
};
/// Traffic that lasts as long as the jobs, from the CPU of one node to that of another through their first working NICs. It takes at most
/// this rate, and its fair share of each link if that is less.
struct BackgroundFlow {
  int from_node, to_node;
  double bytes_per_s;
};
/// Replays jobs whose messages meet on the cluster's links, by flows or on SimGrid. Times count from the first start.
std::vector<Replay> replay_flows_of_jobs(const std::vector<JobToReplay>& jobs,
                                         const std::vector<BackgroundFlow>& background,
                                         const ReplayOptions& options = {});
std::vector<Replay> replay_messages_of_jobs(const std::vector<JobToReplay>& jobs,
                                            const std::vector<BackgroundFlow>& background,
                                            const ReplayOptions& options = {});

/// Replays by max-plus recurrences. Returns false (and leaves `replay` unspecified) if two flows would share a link.
[[nodiscard]] bool replay_max_plus(const Program& program, const Cluster& cluster, const Jitter& jitter,
                                   const ReplayOptions& options, Replay& replay);

/// The links on which messages may meet. `own`: links that carry only messages from or to one GPU, of one collective at
/// a time. `any`: all links.
enum class MeetingLinks { own, any };
/// Replays by recurrences in which each round's messages share links among themselves (shared_rounds.hpp). In the
/// tests, times of a collective are within 1 % of those by flows with own links, and within 15 % with any.
///
/// Returns false if messages meet on other links, or if compute and copies interact in ways that require single
/// messages.
[[nodiscard]] bool replay_shared_rounds(const Program& program, const Cluster& cluster, const Jitter& jitter,
                                        const ReplayOptions& options, MeetingLinks links, Replay& replay);

/// Scales a prediction's inputs, to compute intervals.
struct Perturbation {
  double compute = 1;    ///< on compute times
  double bandwidth = 1;  ///< on bandwidths and the reduction rate
  double latency = 1;    ///< on latencies, per-message overheads, launches
};

/// Times of a program's plans on a cluster as functions of the perturbation: computed once, evaluated for each.
struct [[nodiscard]] PlanCosts {
  /// A flow that may be the longest of a phase: rounds x (latency + transfer).
  struct Flow {
    double latency_s;
    double transfer_s;
  };
  struct PhaseCost {
    int rounds;
    std::vector<Flow> flows;  ///< those that may be the longest
  };
  /// Links by number, and the seconds for which messages occupy each. Equally busy links are merged.
  using LinkSeconds = std::vector<std::pair<int, double>>;
  SharedVector<std::vector<PhaseCost>>
      phases;                                ///< per plan; a plan with a time of its own has one entry, its operation
  std::map<Work::Source, PhaseCost> copies;  ///< over links: to all GPUs at once
  std::vector<LinkSeconds> busy_s;           ///< per plan; empty if collectives meet no others and no copies
  std::map<Work::Source, LinkSeconds> busy_by_copies_s;
  int busy_links = 0;                        ///< upper bound of the links' numbers, exclusive
  std::shared_ptr<const UnitClasses> units;  ///< links of the messages, if the costs needed them (unit_classes.hpp)
};
/// Costs of collectives that plan_costs() has found on a cluster.
struct KnownCosts {
  std::shared_ptr<class CollectiveCosts> found;
};
/// `known`: of the same cluster; they grow. Programs whose collectives differ only in bytes then take little time.
PlanCosts plan_costs(const Program& program, const Cluster& cluster, KnownCosts* known = nullptr);
/// Returns the seconds of phases that run one after the other.
double seconds_of(const std::vector<PlanCosts::PhaseCost>& phases, const Perturbation& perturbation);

/// Computes the closed form; `expected_slowest` is the expected largest jitter factor over the GPUs (1 without jitter).
Replay replay_analytic(const Program& program, const Cluster& cluster, double expected_slowest,
                       const Perturbation& perturbation = {});
/// Uses `costs` of this program, or of another with the same plans.
Replay replay_analytic(const Program& program, double expected_slowest, const Perturbation& perturbation,
                       const PlanCosts& costs);

/// Seconds of one plan by the closed form, if all ranks start together.
double analytic_plan_s(const Plan& plan, const Cluster& cluster, double reduction_rate = 0,
                       const Perturbation& perturbation = {});

/// These replay one plan alone. They take the time at which each rank arrives, and return the time at which it leaves.
/// The max-plus form replaces arrivals by departures in `times_s`, and returns false if flows share a link.
std::vector<double> plan_by_flows(const Plan& plan, const Cluster& cluster, const std::vector<double>& arrivals_s,
                                  double reduction_rate = 0);
std::vector<double> plan_by_messages(const Plan& plan, const Cluster& cluster, const std::vector<double>& arrivals_s,
                                     double reduction_rate = 0);
[[nodiscard]] bool plan_by_max_plus(const Plan& plan, const Cluster& cluster, std::vector<double>& times_s,
                                    double reduction_rate = 0);
std::vector<double> plan_by_shared_rounds(const Plan& plan, const Cluster& cluster, std::vector<double> arrivals_s,
                                          double reduction_rate = 0);

}  // namespace lockstep::sim::replay
