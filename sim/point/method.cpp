#include "sim/point/method.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/index.hpp"
#include "engine/base/text.hpp"
#include "sim/replay/block_shapes.hpp"

namespace lockstep::sim::point {
namespace {

// A replay of every message takes about a second per million messages that share links. Up to kMostGpusByFlows GPUs,
// some minutes are acceptable; above, only few messages are replayed. If GPUs do not share links, shared rounds are as
// good for far fewer messages.
constexpr int kMostGpusByFlows = 512;
constexpr double kFewMessagesOnOwnLinks = 3e4, kFewMessages = 1e6, kManyMessages = 2e7;
// If a GPU exchanges with more than this number of others at once, each message that ends changes the rates of most
// others.
constexpr double kManyTransfersOfGpu = 16;
constexpr double kMostStepsByRounds = 6e7;  // about half a minute
constexpr double kMostMessages = 2e8;       // if shared rounds cannot replay the program: some minutes

// Above this number of GPUs, a replay may take about 10 s and 1 GB. It computes 3e7 to 7e7 steps of max-plus
// recurrences per second, or 1.5e6 to 6e6 steps on shared links. A transfer needs 85 bytes.
constexpr int kMostGpusOfAnyReplay = 65536;
constexpr double kMostStepsOfLarge = 2.5e8, kMostStepsOfLargeByRounds = 2e7, kMostTransfersOfLarge = 1e7;
// Mean number of rounds that are computed for a ring: 35 for the first bucket, 1 for each later one.
constexpr int kRoundsUntilSteady = 10;

constexpr double kMostSplitEvents = 2e7;          // by SimGrid
constexpr double kFewSplitEvents = 2e6;           // by flows, a second or two
constexpr double kMostSplitEventsByRounds = 3e9;  // includes events of other stages, which take no time: some seconds

// Largest relative errors compared with flows in tests/replay.
constexpr double kErrorOnOwnLinks = 0.01, kErrorOnAnyLinks = 0.15;

PredictionMethod method_of(ReplayMethod replay, MethodReason reason) {
  PredictionMethod method;
  method.replay = replay;
  method.reason = reason;
  return method;
}

PredictionMethod shared_rounds(MeetingLinks links) {
  PredictionMethod method = method_of(ReplayMethod::shared_rounds, MethodReason::many_messages);
  method.shares_any_links = links == MeetingLinks::any;
  return method;
}

}  // namespace

ErrorClass PredictionMethod::error_class() const {
  if (replay == ReplayMethod::closed_form) return ErrorClass::closed_form;
  return replay == ReplayMethod::shared_rounds ? ErrorClass::approximate : ErrorClass::exact;
}

double PredictionMethod::stated_error() const {
  if (error_class() != ErrorClass::approximate) return 0;
  return shares_any_links ? kErrorOnAnyLinks : kErrorOnOwnLinks;
}

Fidelity PredictionMethod::fidelity() const {
  if (replay == ReplayMethod::messages) return Fidelity::message;
  return replay == ReplayMethod::closed_form ? Fidelity::analytic : Fidelity::fast;
}

std::string PredictionMethod::text() const {
  const std::string whole = std::to_string(represented);
  switch (part) {
    case ReplayedPart::everything:
      break;
    case ReplayedPart::replicas:
      return name_of(replay) + " of " + std::to_string(replayed) + " of " + whole + " identical replicas";
    case ReplayedPart::servers:
      return name_of(replay) + " of one of " + whole + " identical servers";
  }
  return name_of(replay);
}

Json method_json(const PredictionMethod& method) {
  Json json{
      {"method", method.text()}, {"error_class", name_of(method.error_class())}, {"reason", name_of(method.reason)}};
  if (method.error_class() == ErrorClass::approximate) json["stated_error"] = method.stated_error();
  return json;
}

ReplaySize estimate_replay_size(const Program& program) {
  ReplaySize size;
  std::vector<double> steps_of_plan;
  std::set<std::uint64_t> shapes;
  for (const Plan& plan : program.plans) {
    double steps = plan.call ? program.gpus : 0;
    for (const Phase& phase : plan.phases) {
      if (plan.call) break;
      steps += double(phase.transfers.size()) * std::min(phase.rounds, kRoundsUntilSteady);
      for (const auto& block : phase.transfers.blocks())
        if (shapes.insert(hash_of_ranks(*block)).second) size.transfers += double(block->size());
    }
    steps_of_plan.push_back(steps);
  }
  for (const Work& work : program.work)
    size.steps += work.kind == Work::Kind::collective ? steps_of_plan[to_index(work.plan)] : program.gpus;
  return size;
}

MethodsToTry choose_methods(Fidelity fidelity, int gpus, double messages, double most_messages,
                            const ReplaySize& size) {
  if (fidelity == Fidelity::analytic) return {method_of(ReplayMethod::closed_form, MethodReason::fidelity)};
  if (fidelity == Fidelity::message) return {method_of(ReplayMethod::messages, MethodReason::fidelity)};
  MethodsToTry methods{method_of(ReplayMethod::max_plus, MethodReason::separate_links)};
  if (most_messages > 0 && messages > most_messages) {
    methods.push_back(method_of(ReplayMethod::closed_form, MethodReason::message_limit));
    return methods;
  }
  if (gpus > kMostGpusOfAnyReplay) {
    const PredictionMethod closed_form = method_of(ReplayMethod::closed_form, MethodReason::large_cluster);
    if (size.steps > kMostStepsOfLarge || size.transfers > kMostTransfersOfLarge) return {closed_form};
    methods.push_back(size.steps > kMostStepsOfLargeByRounds ? closed_form : shared_rounds(MeetingLinks::any));
    return methods;
  }
  const bool is_large = gpus > kMostGpusByFlows;
  const bool meets_many = size.transfers > kManyTransfersOfGpu * gpus && messages > kFewMessagesOnOwnLinks;
  if (messages > (is_large ? kFewMessages : kManyMessages) || (is_large && meets_many)) {
    if (size.steps > kMostStepsByRounds) {
      methods.push_back(method_of(ReplayMethod::closed_form, MethodReason::long_replay));
      return methods;
    }
    methods.push_back(shared_rounds(MeetingLinks::any));
  } else if (is_large && messages > kFewMessagesOnOwnLinks)
    methods.push_back(shared_rounds(MeetingLinks::own));
  if (messages <= kMostMessages) methods.push_back(method_of(ReplayMethod::fair_flows, MethodReason::few_messages));
  return methods;
}

MethodsToTry choose_dumping_method() {
  return {method_of(ReplayMethod::fair_flows, MethodReason::links_dump)};
}

MethodsToTry choose_split_methods(Fidelity fidelity, double events) {
  if (fidelity == Fidelity::message) return {method_of(ReplayMethod::messages, MethodReason::fidelity)};
  MethodsToTry methods;
  if (events > kFewSplitEvents) methods.push_back(shared_rounds(MeetingLinks::any));
  methods.push_back(method_of(ReplayMethod::fair_flows, MethodReason::few_messages));
  return methods;
}

PredictionMethod choose_workers_method(Fidelity fidelity) {
  return method_of(fidelity == Fidelity::message ? ReplayMethod::messages : ReplayMethod::fair_flows,
                   MethodReason::fidelity);
}

void check_split_events(Fidelity fidelity, double events, bool has_jitter) {
  const bool is_fast = fidelity == Fidelity::fast;
  if (events <= (is_fast ? kMostSplitEventsByRounds : kMostSplitEvents)) return;
  throw InputError("/fidelity: " + name_of(fidelity) + " replays at least " + short_number(std::round(events * 1e-6)) +
                   " million events of this split; allowed: analytic" +
                   (is_fast && has_jitter ? ", or no /compute/jitter" : ""));
}

Replay replay_by_first(const MethodsToTry& methods, const Program& program, const Cluster& cluster,
                       const Jitter& jitter, const ReplayOptions& options,
                       const std::function<Replay()>& replay_closed_form, PredictionMethod& used) {
  Replay replay;
  for (const PredictionMethod& method : methods) {
    used = method;
    const MeetingLinks links = method.shares_any_links ? MeetingLinks::any : MeetingLinks::own;
    switch (method.replay) {
      case ReplayMethod::max_plus:
        if (replay_max_plus(program, cluster, jitter, options, replay)) return replay;
        break;
      case ReplayMethod::shared_rounds:
        if (replay_shared_rounds(program, cluster, jitter, options, links, replay)) return replay;
        break;
      case ReplayMethod::messages:
        return replay_messages(program, cluster, jitter, options);
      case ReplayMethod::fair_flows:
        return replay_flows(program, cluster, jitter, options);
      case ReplayMethod::closed_form:
        return replay_closed_form();
    }
  }
  const double messages = program.messages_per_iteration() * program.iterations;
  throw InputError("/fidelity: fast takes the " + short_number(std::round(messages * 1e-6)) +
                   " million messages of this job one by one; allowed: analytic, fewer GPUs or /iterations");
}

}  // namespace lockstep::sim::point
