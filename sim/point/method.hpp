#pragma once
// The method by which a point is replayed: chosen here alone, with its error class and the reason for the choice.
#include <functional>
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::point {

/// Error of predicted times against a replay of every message on the same inputs.
enum class ErrorClass {
  exact,        ///< the messages' own times
  approximate,  ///< within PredictionMethod::stated_error()
  closed_form   ///< no bound: ranks in lockstep, see replay.hpp
};

inline const Choices<ErrorClass>& choices_of(ErrorClass) {
  static const Choices<ErrorClass> all{
      {ErrorClass::exact, "exact"}, {ErrorClass::approximate, "approximate"}, {ErrorClass::closed_form, "closed form"}};
  return all;
}

enum class MethodReason {
  fidelity,
  separate_links,
  few_messages,
  many_messages,
  message_limit,
  large_cluster,
  long_replay,
  links_dump
};

inline const Choices<MethodReason>& choices_of(MethodReason) {
  static const Choices<MethodReason> all{
      {MethodReason::fidelity, "the requested fidelity has this method only"},
      {MethodReason::separate_links, "no link carries two messages at once"},
      {MethodReason::few_messages, "few enough messages to replay each"},
      {MethodReason::many_messages, "too many messages to replay each"},
      {MethodReason::message_limit, "more messages than the request allows"},
      {MethodReason::long_replay, "a replay would take more than about half a minute"},
      {MethodReason::large_cluster, "above 65,536 GPUs, a replay would need more than about 10 s or 1 GB"},
      {MethodReason::links_dump, "links and messages are listed"}};
  return all;
}

/// The part of a program that is replayed: everything, or some of its identical replicas or servers, for all of them.
enum class ReplayedPart { everything, replicas, servers };

inline const Choices<ReplayedPart>& choices_of(ReplayedPart) {
  static const Choices<ReplayedPart> all{{ReplayedPart::everything, "everything"},
                                         {ReplayedPart::replicas, "replicas"},
                                         {ReplayedPart::servers, "servers"}};
  return all;
}

struct PredictionMethod {
  ReplayMethod replay = ReplayMethod::closed_form;
  MethodReason reason = MethodReason::fidelity;
  bool shares_any_links = false;  ///< shared rounds: on links of several GPUs too (MeetingLinks::any)
  ReplayedPart part = ReplayedPart::everything;
  int replayed = 1, represented = 1;  ///< replicas or servers

  ErrorClass error_class() const;
  /// Largest relative error of an approximate method in the tests; 0 for others.
  double stated_error() const;
  /// The fidelity that this method belongs to, whichever was requested.
  Fidelity fidelity() const;
  /// Describes the method: "fair flows of 4 of 64 identical replicas".
  std::string text() const;

  LOCKSTEP_FIELDS(replay, reason, shares_any_links, part, replayed, represented);
};

/// Estimated work and memory of a replay by recurrences.
struct ReplaySize {
  double steps = 0;      ///< messages and compute tasks that are evaluated one by one, over all iterations
  double transfers = 0;  ///< in memory; blocks of one shape count once (block_shapes.hpp)
};
ReplaySize estimate_replay_size(const Program& program);

/// Methods in the order in which to try them: max-plus recurrences and shared rounds cannot replay every program.
using MethodsToTry = std::vector<PredictionMethod>;

/// `messages`: of all iterations; `most_messages`: above it a `fast` point is predicted in closed form, 0: no limit.
/// Above 65,536 GPUs also where a replay would need more than about 10 s or 1 GB.
MethodsToTry choose_methods(Fidelity fidelity, int gpus, double messages, double most_messages, const ReplaySize& size);
/// The method that can list links and messages (ReplayOptions::dump_links_at_s).
MethodsToTry choose_dumping_method();
/// Chooses methods for split replicas. `events`: messages and pieces of compute of all iterations.
MethodsToTry choose_split_methods(Fidelity fidelity, double events);
/// Workers whose programs differ are replayed by messages or flows.
PredictionMethod choose_workers_method(Fidelity fidelity);

/// Throws InputError if `events` are more than the fidelity replays for a split.
void check_split_events(Fidelity fidelity, double events, bool has_jitter);

/// Replays by the first of `methods` that can, and returns it in `used`. `replay_closed_form` is called for the closed
/// form. Throws InputError if none can: the program has too many messages.
Replay replay_by_first(const MethodsToTry& methods, const Program& program, const Cluster& cluster,
                       const Jitter& jitter, const ReplayOptions& options,
                       const std::function<Replay()>& replay_closed_form, PredictionMethod& used);

}  // namespace lockstep::sim::point
