#include "sim/schedule/program.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace lockstep::sim::schedule {

double Program::bytes_sent_per_gpu_and_iteration() const {
  std::vector<double> of_plan;
  for (const Plan& plan : plans) of_plan.push_back(static_cast<double>(plan.bytes_sent()));
  double bytes = 0;
  for (const Work& w : work)
    if (w.kind == Work::Kind::collective) bytes += of_plan[static_cast<std::size_t>(w.plan)];
  return iterations > 0 ? bytes / gpus / iterations : 0;
}

double Program::messages_per_iteration() const {
  std::vector<double> of_plan;
  for (const Plan& plan : plans) of_plan.push_back(static_cast<double>(plan.messages()));
  double messages = 0;
  for (const Work& w : work)
    if (w.kind == Work::Kind::collective) messages += of_plan[static_cast<std::size_t>(w.plan)];
  return iterations > 0 ? messages / iterations : 0;
}

Program first_iterations(const Program& program, int iterations) {
  const auto is_later = [&](const Work& work) { return work.iteration >= iterations; };
  Program first;
  first.gpus = program.gpus;
  first.fed_gpus = program.fed_gpus;
  first.iterations = iterations;
  first.draws = program.draws;
  first.roles = program.roles;
  first.shares_gpu = program.shares_gpu;
  first.reduction_rate_bytes_per_s = program.reduction_rate_bytes_per_s;
  first.streams = program.streams;
  first.plans = program.plans;
  first.work.assign(program.work.begin(), std::find_if(program.work.begin(), program.work.end(), is_later));
  first.iteration_ends.assign(program.iteration_ends.begin(), program.iteration_ends.begin() + iterations);
  return first;
}

int collective_streams(const Program& program) {
  std::set<int> streams;
  for (const Work& w : program.work)
    if (w.kind == Work::Kind::collective && !program.plans[static_cast<std::size_t>(w.plan)].phases.empty())
      streams.insert(w.stream);
  return static_cast<int>(streams.size());
}

std::vector<Work::Source> input_sources(const Program& program) {
  std::set<Work::Source> sources;
  for (const Work& w : program.work)
    if (w.source != Work::Source::aside) sources.insert(w.source);
  return {sources.begin(), sources.end()};
}

bool has_input_on_links(const Program& program) {
  return !input_sources(program).empty();
}

bool sends_one_by_one(const Program& program) {
  if (collective_streams(program) > 1 || has_input_on_links(program)) return false;
  for (const Plan& plan : program.plans) {
    if (plan.call) return false;
    for (const Phase& phase : plan.phases) {
      std::set<int> senders;
      for (const Transfer& transfer : phase.transfers)
        if (!senders.insert(transfer.src).second) return false;
    }
  }
  return true;
}

Enqueue::Enqueue(int gpus, std::vector<std::string> streams) {
  program_.gpus = gpus;
  program_.fed_gpus = gpus;
  program_.streams = std::move(streams);
}

void Enqueue::share_gpu(int learners) {
  program_.shares_gpu = true;
  program_.draws = learners + 1;
}

int Enqueue::share(int stream, std::string name, double seconds, double fill, int draw, std::vector<int> after) {
  const int index = compute(stream, std::move(name), seconds, std::move(after));
  const int learners = program_.draws - 1;
  Work& work = program_.work.back();
  work.fill = fill;
  work.draw = draw;
  if (draw < learners) work.crowding = std::max(1.0, learners * fill);
  return index;
}

int Enqueue::compute_of(int role, int stream, std::string name, double seconds, std::vector<int> after) {
  const int index = compute(stream, std::move(name), seconds, std::move(after));
  program_.work.back().draw = role;
  return index;
}

void Enqueue::begin_iteration() {
  ++program_.iterations;
}

int Enqueue::append(Work work) {
  work.iteration = program_.iterations - 1;
  program_.work.push_back(std::move(work));
  return static_cast<int>(program_.work.size()) - 1;
}

int Enqueue::compute(int stream, std::string name, double seconds, std::vector<int> after, Parts parts) {
  Work work;
  work.kind = Work::Kind::compute;
  work.stream = stream;
  work.name = std::move(name);
  work.seconds = seconds;
  work.after = std::move(after);
  work.parts = std::move(parts);
  return append(std::move(work));
}

int Enqueue::copy(int stream, std::string name, double seconds, std::vector<int> after) {
  Work work;
  work.kind = Work::Kind::copy;
  work.stream = stream;
  work.name = std::move(name);
  work.seconds = seconds;
  work.after = std::move(after);
  return append(std::move(work));
}

int Enqueue::copy_over_links(int stream, std::string name, Work::Source source, std::int64_t bytes,
                             std::vector<int> after) {
  const int index = copy(stream, std::move(name), 0, std::move(after));
  program_.work.back().source = source;
  program_.work.back().bytes = bytes;
  return index;
}

int Enqueue::host(int stream, std::string name, double seconds, std::vector<int> after) {
  Work work;
  work.kind = Work::Kind::host;
  work.stream = stream;
  work.name = std::move(name);
  work.seconds = seconds;
  work.after = std::move(after);
  return append(std::move(work));
}

int Enqueue::collective(int stream, std::string name, int plan, double launch_s, std::vector<int> after, double slows) {
  Work work;
  work.kind = Work::Kind::collective;
  work.stream = stream;
  work.name = std::move(name);
  work.seconds = launch_s;
  work.plan = plan;
  work.slows = slows;
  work.after = std::move(after);
  return append(std::move(work));
}

void Enqueue::end_iteration(int last_work) {
  program_.iteration_ends.push_back(last_work);
}

int Enqueue::add_plan(Plan plan) {
  program_.plans.push_back(std::move(plan));
  return static_cast<int>(program_.plans.size()) - 1;
}

Program Enqueue::finish() {
  return std::move(program_);
}

}  // namespace lockstep::sim::schedule
