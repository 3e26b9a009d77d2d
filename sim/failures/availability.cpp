#include "sim/failures/availability.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lockstep::sim::failures {
namespace {

constexpr double kLongest_s = 1e9;
constexpr int kMostNodes = 1 << 20;
constexpr std::size_t kMostIntervals = 1 << 20;

// Reads a time that has no kind and source of its own; those of the trace apply.
template <class T>
typename ObjectFormat<T>::Field time(ObjectFormat<T>& f, const char* key, double T::*member, Range range_s) {
  auto field =
      f.custom(key, "time", format_text::range_of(range_s, Dimension::time), format_text::schema_of(Dimension::time));
  field.reads([=](const JsonNode& node, T& object) { object.*member = node.quantity(Dimension::time, range_s); });
  field.writes([=](const T& object) { return Json(quantity_text(object.*member, Dimension::time)); });
  field.unsaid_where([=](const T& object) { return object.*member == T().*member; });
  return field;
}

const ObjectFormat<AvailableInterval>& interval_format() {
  static const ObjectFormat<AvailableInterval> format = [] {
    using Spec = AvailableInterval;
    ObjectFormat<Spec> f("interval");
    time(f, "from", &Spec::from_s, {0, kLongest_s}).means("when they come, since the beginning of the trace");
    time(f, "to", &Spec::to_s, {0, kLongest_s}).means("when they leave");
    f.whole("nodes", &Spec::nodes, 1, kMostNodes).optional("1").means("that come and go together");
    f.then([](const JsonNode& node, Spec& interval) {
      if (interval.to_s <= interval.from_s)
        node.at("to").fail("the interval ends before it begins", "allowed: later than \"from\"");
    });
    return f;
  }();
  return format;
}

void check_intervals(const JsonNode& node, Availability& trace) {
  const JsonNode intervals = node.at("intervals");
  if (trace.intervals.empty()) intervals.fail("no intervals", "allowed: one or more");
  if (trace.intervals.size() > kMostIntervals)
    intervals.fail("too many intervals", "allowed: at most " + std::to_string(kMostIntervals));
  double last_s = 0;
  for (const AvailableInterval& interval : trace.intervals) last_s = std::max(last_s, interval.to_s);
  if (trace.length_s <= 0) trace.length_s = last_s;
  if (trace.length_s < last_s)
    node.at("length").fail("an interval ends at " + format_seconds(last_s) + ", behind the trace",
                           "allowed: at least so long");
  const double nodes = std::accumulate(trace.intervals.begin(), trace.intervals.end(), 0.0,
                                       [](double sum, const AvailableInterval& i) { return sum + i.nodes; });
  if (nodes > 1e9) intervals.fail("too many nodes", "allowed: 1e9 over all intervals");
}

}  // namespace

const ObjectFormat<Availability>& availability_format() {
  static const ObjectFormat<Availability> format = [] {
    using Spec = Availability;
    ObjectFormat<Spec> f("availability");
    auto schema = f.custom("schema", "text", "`lockstep/availability/1`", {{"const", "lockstep/availability/1"}});
    schema.means("version of the format");
    schema.reads([](const JsonNode& node, Spec&) { node.choice({"lockstep/availability/1"}); });
    schema.writes([](const Spec&) { return Json("lockstep/availability/1"); });
    f.text("name", &Spec::name).means("of the trace");
    auto kind = f.custom("kind", "text", "`measured published fitted assumed`",
                         {{"enum", {"measured", "published", "fitted", "assumed"}}});
    kind.reads([](const JsonNode& node, Spec& spec) {
      spec.kind = node.choice({"measured", "published", "fitted", "assumed"});
    });
    kind.writes([](const Spec& spec) { return Json(spec.kind); });
    kind.means("where it comes from");
    f.text("source", &Spec::source).means("which machine, zone and time; which publication");
    time(f, "length", &Spec::length_s, {1, kLongest_s})
        .optional("to the end of the last interval")
        .means("of the trace, which begins anew behind it");
    time(f, "notice", &Spec::notice_s, {0, 86400})
        .optional("none")
        .means("from the warning to the loss: a checkpoint that is written in it loses no work");
    f.list("intervals", &Spec::intervals, interval_format()).means("when nodes are there, in any order");
    f.then(check_intervals);
    return f;
  }();
  return format;
}

Json availability_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "lockstep/availability/1"},
              {"description", "When nodes of a spot market are there: intervals of time."}};
  schema.update(availability_format().schema());
  return schema;
}

int Availability::most_nodes() const {
  std::map<double, std::int64_t> change;
  for (const AvailableInterval& interval : intervals) {
    change[interval.from_s] += interval.nodes;
    change[interval.to_s] -= interval.nodes;
  }
  std::int64_t now = 0, most = 0;
  for (const auto& [time_s, nodes] : change) most = std::max(most, now += nodes);
  return static_cast<int>(most);
}

Holdings::Holdings(const Availability& trace, int nodes, double start_s)
    : trace_(trace),
      wanted_(nodes),
      start_s_(std::fmod(start_s, trace.length_s)),
      free_(trace.intervals.size(), 0),
      used_(trace.intervals.size(), 0) {
  collect_changes();
  begin();
}

void Holdings::collect_changes() {
  std::map<double, Change> changes;
  changes[trace_.length_s];  // at the start of the next round, nodes may leave and come
  for (std::size_t i = 0; i < trace_.intervals.size(); ++i) {
    const AvailableInterval& interval = trace_.intervals[i];
    changes[interval.to_s].leave.push_back(i);
    changes[interval.from_s > 0 ? interval.from_s : trace_.length_s].come.push_back(i);
  }
  for (auto& [time_s, change] : changes) {
    change.time_s = time_s;
    changes_.push_back(std::move(change));
  }
}

void Holdings::begin() {
  round_s_ = -start_s_;
  for (std::size_t i = 0; i < trace_.intervals.size(); ++i) {
    const AvailableInterval& interval = trace_.intervals[i];
    if (interval.from_s > start_s_ || interval.to_s <= start_s_) continue;
    there_.insert(i);
    free_now_ += free_[i] = interval.nodes;
  }
  while (change_ + 1 < changes_.size() && changes_[change_].time_s <= start_s_) ++change_;
}

// Takes free nodes, first those that became available first. Returns false if there are too few.
bool Holdings::take(int wanted) {
  if (free_now_ < wanted) return false;
  for (std::size_t i : there_) {
    const int taken = std::min(wanted, free_[i]);
    free_[i] -= taken;
    used_[i] += taken;
    held_ += taken;
    free_now_ -= taken;
    if ((wanted -= taken) == 0) break;
  }
  return true;
}

// Returns how many nodes the job loses. Nodes that come replace those that leave at the same time, the job's first.
int Holdings::apply(const Change& change) {
  int lost = 0;
  for (std::size_t i : change.leave) {
    lost += used_[i];
    free_now_ -= free_[i];
    used_[i] = free_[i] = 0;
    there_.erase(i);
  }
  for (std::size_t i : change.come) {
    const int stay = std::min(lost, trace_.intervals[i].nodes);
    lost -= stay;
    used_[i] = stay;
    free_now_ += free_[i] = trace_.intervals[i].nodes - stay;
    there_.insert(i);
  }
  held_ -= lost;
  return lost;
}

int Holdings::pass_next_change() {
  clock_s_ = round_s_ + changes_[change_].time_s;
  const int lost = apply(changes_[change_]);
  if (++change_ < changes_.size()) return lost;
  change_ = 0;
  round_s_ += trace_.length_s;
  return lost;
}

// Returns none if a whole round has no such period, because then no later round has one.
std::optional<Holding> Holdings::next() {
  for (std::size_t seen = 0; !take(wanted_ - held_); ++seen) {
    if (seen > changes_.size()) return std::nullopt;
    pass_next_change();
  }
  Holding holding{clock_s_};
  for (std::size_t seen = 0; seen <= changes_.size(); ++seen) {
    if (pass_next_change() == 0) continue;
    holding.to_s = clock_s_;
    break;
  }
  return holding;
}

}  // namespace lockstep::sim::failures
