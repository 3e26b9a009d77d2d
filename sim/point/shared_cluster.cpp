#include "sim/point/shared_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/point/ecmp_hashes.hpp"
#include "sim/point/learners_point.hpp"
#include "sim/point/split_point.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/replica/program.hpp"

namespace lockstep::sim::point {
namespace {

constexpr int kReplays = 9;
constexpr double kMostMessagesTogether = 2e7;  // of all replays: about a minute
constexpr int kFewestIterations = 3;           // iterations of the slowest job that are measured, at least
constexpr int kMostAttempts = 5;               // each replays at least 1.5 times as long as the one before

// A job as it is replayed; its parts refer to each other, so that it stays in place.
class RunningJob {
 public:
  RunningJob(const JobOnGpus& job, int hash) : scenario_(as_used(*job.scenario, job.gpus, hash)), gpus_(job.gpus) {
    if (scenario_.workers)
      throw InputError(scenario_.name + ": /jobs: " + in_quotes(name_of(scenario_.algorithm)) +
                       " has workers that do not wait for each other, which are not predicted together with other "
                       "jobs; allowed: synchronous algorithms");
    if (scenario_.input.is_on_links)
      throw InputError(scenario_.name +
                       ": /input/traffic: \"links\" is not predicted together with other jobs; "
                       "allowed: aside");
    cluster_ = std::make_unique<Cluster>(scenario_.cluster, occupied_gpus(scenario_, gpus_));
    apply_overheads(scenario_, *cluster_);
    if (is_split(scenario_)) {
      model_ = std::make_unique<SplitModel>(scenario_, *cluster_, gpus_);
      jitter_ = jitter_of_stages(*model_, jitter_of(scenario_, scenario_.seed), model_->job().spec.data);
      samples_ = static_cast<double>(global_batch_of(model_->job().spec, model_->job().spec.data));
    } else {
      const int learners = scenario_.trains_learners() ? scenario_.learners.per_gpu : 1;
      jitter_ = workers_only(jitter_of(scenario_, scenario_.seed), gpus_);
      samples_ = double(gpus_) * scenario_.batch_at(gpus_) * learners * scenario_.communication.accumulation;
    }
    set_iterations(1);
  }

  void set_iterations(int iterations) {
    iterations_ = iterations;
    program_ = model_ ? split_program(scenario_, *model_, iterations, model_->job().spec.data)
                      : build_program(scenario_, gpus_, scenario_.batch_at(gpus_), iterations);
  }

  JobToReplay to_replay(double start_s) const { return {&program_, cluster_.get(), &jitter_, start_s}; }
  const Scenario& scenario() const { return scenario_; }
  const Cluster& cluster() const { return *cluster_; }
  int gpus() const { return gpus_; }
  int iterations() const { return iterations_; }
  double samples_per_iteration() const { return samples_; }
  double messages_per_iteration() const { return program_.messages_per_iteration(); }
  /// Iterations after which the program repeats: those between two averagings.
  int iterations_of_round() const {
    return scenario_.trains_learners() ? std::max(1, scenario_.learners.tau) : sim::iterations_of_round(scenario_);
  }

 private:
  // All nodes of the cluster are numbered, so that all jobs have the same links.
  static Scenario as_used(Scenario scenario, int gpus, int hash) {
    scenario.compute.busy_devices = std::min(gpus, scenario.cluster.gpus_per_node);
    if (scenario.parallel && !is_split(scenario)) scenario = without_split(scenario, gpus);
    ClusterSpec& cluster = scenario.cluster;
    if (cluster.nodes_used.empty()) {
      cluster.nodes_used.resize(to_index(cluster.nodes));
      std::iota(cluster.nodes_used.begin(), cluster.nodes_used.end(), 0);
    }
    if (cluster.fabric.routing == Routing::ecmp && cluster.fabric.hash == 0) cluster.fabric.hash = hash;
    std::vector<TunerObservation> observed;
    const PointRequest request = request_for(scenario, gpus, scenario.batch_at(gpus));
    return with_tuned_learners(std::move(scenario), request, observed);
  }

  const Scenario scenario_;
  const int gpus_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SplitModel> model_;  // of a split
  Program program_;
  Jitter jitter_;
  double samples_ = 0;
  int iterations_ = 0;
};

using RunningJobs = std::vector<std::unique_ptr<RunningJob>>;

std::vector<BackgroundFlow> background_of(const Scenario& scenario) {
  std::vector<BackgroundFlow> flows;
  for (const BackgroundSpec& flow : scenario.background)
    flows.push_back({flow.from_node, flow.to_node, flow.bytes_per_s});
  return flows;
}

// Mean time of the rounds that end by `until_s`, the first of them left out; 0 if they are too few.
double mean_iteration_s(const RunningJob& job, const Replay& replay, double until_s) {
  const int round = job.iterations_of_round();
  int last = static_cast<int>(replay.iteration_end_s.size()) - 1;
  while (last >= 0 && replay.iteration_end_s[to_index(last)] > until_s) --last;
  const int rounds = (last + 1) / round - 1;
  if (rounds * round < kFewestIterations) return 0;
  const int first = round - 1, end = first + rounds * round;
  return (replay.iteration_end_s[to_index(end)] - replay.iteration_end_s[to_index(first)]) / (rounds * round);
}

double measure_alone_s(RunningJob& job) {
  const int round = job.iterations_of_round();
  job.set_iterations(((kFewestIterations + round - 1) / round + 1) * round);
  const Replay replay = replay_flows_of_jobs({job.to_replay(0)}, {}).front();
  return mean_iteration_s(job, replay, replay.iteration_end_s.back());
}

double messages_of(const RunningJobs& jobs) {
  double messages = 0;
  for (const auto& job : jobs) messages += job->messages_per_iteration() * job->iterations();
  return messages;
}

// Each job runs for at least `seconds`, and a round more that is not measured.
void set_duration(const RunningJobs& jobs, const std::vector<double>& iteration_s, double seconds) {
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const int round = jobs[j]->iterations_of_round();
    const double rounds = std::ceil(seconds / (iteration_s[j] * round)) + 1;
    jobs[j]->set_iterations(static_cast<int>(std::min(1e6, rounds)) * round);
  }
}

// Time in which the slowest job ends its fewest iterations, after the round that is not measured.
double duration_s(const RunningJobs& jobs, const std::vector<double>& iteration_s) {
  double longest_s = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const int round = jobs[j]->iterations_of_round();
    const int measured = (kFewestIterations + round - 1) / round * round;
    longest_s = std::max(longest_s, (measured + round) * iteration_s[j]);
  }
  return longest_s;
}

// Replays the jobs until each has been measured for kFewestIterations iterations of the slowest one.
std::vector<double> measure_together_s(const RunningJobs& jobs, const std::vector<double>& alone_s,
                                       const std::vector<double>& starts_s, bool by_messages) {
  std::vector<double> lasting_s = alone_s, measured_s(jobs.size(), 0);
  const double last_start_s = *std::max_element(starts_s.begin(), starts_s.end());
  double seconds = duration_s(jobs, alone_s) + last_start_s;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    set_duration(jobs, lasting_s, seconds);
    std::vector<JobToReplay> to_replay;
    for (std::size_t j = 0; j < jobs.size(); ++j) to_replay.push_back(jobs[j]->to_replay(starts_s[j]));
    const std::vector<BackgroundFlow> background = background_of(jobs.front()->scenario());
    const std::vector<Replay> replays =
        by_messages ? replay_messages_of_jobs(to_replay, background) : replay_flows_of_jobs(to_replay, background);
    double until_s = std::numeric_limits<double>::infinity();
    for (const Replay& replay : replays) until_s = std::min(until_s, replay.iteration_end_s.back());
    bool is_measured = true;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      measured_s[j] = mean_iteration_s(*jobs[j], replays[j], until_s);
      is_measured = is_measured && measured_s[j] > 0;
      const Replay& own = replays[j];
      lasting_s[j] = (own.iteration_end_s.back() - starts_s[j]) / double(own.iteration_end_s.size());
    }
    if (is_measured) break;
    seconds = std::max(1.5 * seconds, duration_s(jobs, lasting_s) + last_start_s);
  }
  if (std::count(measured_s.begin(), measured_s.end(), 0.0) > 0)
    throw InputError(jobs.front()->scenario().name +
                     ": /jobs: the iterations of two jobs differ too much in length to "
                     "replay them together; allowed: jobs of more similar iteration times");
  return measured_s;
}

void check_messages(const RunningJobs& jobs, double messages) {
  if (messages <= kMostMessagesTogether) return;
  throw InputError(jobs.front()->scenario().name + ": /jobs: the jobs send " +
                   short_number(std::round(messages * 1e-6)) +
                   " million messages in a few iterations, too many to replay each; allowed: up to " +
                   short_number(kMostMessagesTogether * 1e-6) + " million, so fewer GPUs or micro-batches");
}

void check_nodes(const RunningJobs& jobs) {
  std::set<int> used;
  for (const auto& job : jobs)
    for (int node = 0; node < job->cluster().nodes(); ++node)
      if (!used.insert(job->cluster().node_at(node)).second)
        throw std::invalid_argument("two jobs that run together use node " +
                                    std::to_string(job->cluster().node_at(node)));
}

SharedJob describe_job(const RunningJob& job) {
  SharedJob result;
  const Scenario& scenario = job.scenario();
  result.name = scenario.variant.empty() ? scenario.name : scenario.variant;
  result.gpus = job.gpus();
  for (int node = 0; node < job.cluster().nodes(); ++node) result.nodes.push_back(job.cluster().node_at(node));
  result.samples_per_iteration = job.samples_per_iteration();
  return result;
}

// Times of one replay, by job.
struct ReplayTimes {
  std::vector<double> alone_s, together_s;
};

std::vector<double> measure_alone_s(const RunningJobs& jobs) {
  std::vector<double> alone_s;
  for (const auto& job : jobs) alone_s.push_back(measure_alone_s(*job));
  return alone_s;
}

// Replays the jobs once; `number` selects their starts.
std::vector<double> replay_once(const RunningJobs& jobs, const std::vector<double>& alone_s, int number,
                                bool by_messages) {
  std::vector<double> starts_s;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double phase = random_uniform(jobs[j]->scenario().seed, to_index(number), j);
    starts_s.push_back(j == 0 ? 0 : phase * alone_s[j]);
  }
  set_duration(jobs, alone_s, duration_s(jobs, alone_s));
  check_messages(jobs, messages_of(jobs));
  return measure_together_s(jobs, alone_s, starts_s, by_messages);
}

}  // namespace

SharedCluster predict_shared_cluster(const std::vector<JobOnGpus>& on_gpus) {
  const Scenario& first = *on_gpus.front().scenario;
  const bool by_messages = first.fidelity == Fidelity::message;
  const bool has_hashes = std::any_of(on_gpus.begin(), on_gpus.end(),
                                      [](const JobOnGpus& job) { return has_several_hashes(*job.scenario, job.gpus); });
  const bool has_one_case = on_gpus.size() == 1 && !has_hashes;
  SharedCluster shared;
  shared.background_flows = static_cast<int>(first.background.size());
  std::vector<ReplayTimes> replays;
  RunningJobs jobs;
  std::vector<double> alone_s;
  for (int number = 0; number < (by_messages || has_one_case ? 1 : kReplays); ++number) {
    if (number > 0 && shared.messages * (number + 1) > kMostMessagesTogether) break;
    if (number == 0 || has_hashes) {  // otherwise routes, and so the times alone, stay the same
      jobs.clear();
      for (const JobOnGpus& job : on_gpus) jobs.push_back(std::make_unique<RunningJob>(job, number + 1));
      check_nodes(jobs);
      alone_s = measure_alone_s(jobs);
    }
    replays.push_back({alone_s, replay_once(jobs, alone_s, number, by_messages)});
    shared.messages = messages_of(jobs);
    for (std::size_t j = 0; number == 0 && j < jobs.size(); ++j) shared.jobs.push_back(describe_job(*jobs[j]));
  }
  shared.replays = static_cast<int>(replays.size());
  for (std::size_t j = 0; j < shared.jobs.size(); ++j) {
    std::vector<double> of_job_alone_s, together_s;
    for (const ReplayTimes& times : replays) {
      of_job_alone_s.push_back(times.alone_s[j]);
      together_s.push_back(times.together_s[j]);
    }
    SharedJob& job = shared.jobs[j];
    job.alone_s = median(of_job_alone_s);
    job.together_s = median(together_s);
    job.together_low_s = *std::min_element(together_s.begin(), together_s.end());
    job.together_high_s = *std::max_element(together_s.begin(), together_s.end());
  }
  return shared;
}

}  // namespace lockstep::sim::point
