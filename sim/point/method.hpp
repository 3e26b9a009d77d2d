#pragma once
// Selects the method by which a point is replayed, with its error class and the reason. No other file does so.
#include <functional>
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::point {

/// Error of predicted times against a replay of every message on the same inputs.
enum class ErrorClass {
  exact,        ///< exact times of all messages
  approximate,  ///< within PredictionMethod::stated_error()
  closed_form   ///< error not bounded: all ranks are assumed to run in lockstep (replay.hpp)
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
  links_dump,
  single_collective,
  no_interval
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
      {MethodReason::links_dump, "links and messages are listed"},
      {MethodReason::single_collective, "collectives one after the other, each in lockstep"},
      {MethodReason::no_interval, "no interval is requested"}};
  return all;
}

/// The part of a program that is replayed: everything, or some replicas or servers that represent identical ones.
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
  bool shares_any_links = false;  ///< shared rounds: also on links of several GPUs (MeetingLinks::any)
  ReplayedPart part = ReplayedPart::everything;
  int replayed = 1, represented = 1;  ///< number of replicas or servers

  ErrorClass error_class() const;
  /// Largest relative error of an approximate method in the tests; 0 for other methods.
  double stated_error() const;
  /// The fidelity of this method, whichever was requested.
  Fidelity fidelity() const;
  /// Describes the method: "fair flows of 4 of 64 identical replicas".
  std::string text() const;

  LOCKSTEP_FIELDS(replay, reason, shares_any_links, part, replayed, represented);
};

/// Writes method (its text), error_class, reason and, of an approximate method, stated_error.
Json method_json(const PredictionMethod& method);

/// Estimated work and memory of a replay by recurrences.
struct ReplaySize {
  double steps = 0;      ///< messages and compute tasks that are evaluated one by one, over all iterations
  double transfers = 0;  ///< in memory; blocks with equal shapes count once (block_shapes.hpp)
};
ReplaySize estimate_replay_size(const Program& program);

/// Methods in the order in which to try them, because max-plus recurrences and shared rounds cannot replay every
/// program.
using MethodsToTry = std::vector<PredictionMethod>;

/// `messages`: of all iterations. A `fast` point with more than `most_messages` is predicted in closed form; 0: no
/// limit. So is a point above 65,536 GPUs whose replay would take more than about 10 s or 1 GB.
MethodsToTry choose_methods(Fidelity fidelity, int gpus, double messages, double most_messages, const ReplaySize& size);
/// The method that can list links and messages (ReplayOptions::dump_links_at_s).
MethodsToTry choose_dumping_method();
/// Chooses methods for split replicas. `events`: messages and pieces of compute of all iterations.
MethodsToTry choose_split_methods(Fidelity fidelity, double events);
/// Chooses the method for workers whose programs differ: messages or flows.
PredictionMethod choose_workers_method(Fidelity fidelity);

/// Throws InputError if a split has more `events` than the fidelity replays.
void check_split_events(Fidelity fidelity, double events, bool has_jitter);

/// Replays by the first of `methods` that can replay the program, and returns that method in `used`. Calls
/// `replay_closed_form` for the closed form. Throws InputError if no method can: the program has too many messages.
Replay replay_by_first(const MethodsToTry& methods, const Program& program, const Cluster& cluster,
                       const Jitter& jitter, const ReplayOptions& options,
                       const std::function<Replay()>& replay_closed_form, PredictionMethod& used);

}  // namespace lockstep::sim::point
