// Laws that every split keeps. Wider links, shorter latencies and faster GPUs never make it slower. Nothing is faster
// than its computation. Neither fidelity nor links nor GPUs change the bytes, and fidelities agree.
// LOCKSTEP_RANDOM_CASES=10000 tries that many cases in closed form, and replays one in forty; a case that breaks a law
// is stored as a scenario.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/index.hpp"
#include "sim/replica/program.hpp"
#include "tests/catch.hpp"
#include "tests/replica/random_splits.hpp"

namespace lockstep::tests {
namespace {

constexpr int kCasesPerReplay = 10;

int cases() {
  const char* const said = std::getenv("LOCKSTEP_RANDOM_CASES");
  return said == nullptr ? 400 : std::atoi(said);
}

sim::Scenario with_links(sim::Scenario s, double bandwidth, double latency) {
  for (sim::LinkSpec* link : {&s.cluster.intra_node.gpu_link, &s.cluster.nic.link, &s.cluster.fabric.link}) {
    link->bandwidth_bytes_per_s *= bandwidth;
    link->latency_s *= latency;
  }
  return s;
}

// Scales arithmetic, memory and processor together, including parts of an iteration that are no kernels.
sim::Scenario with_gpus(sim::Scenario s, double speed) {
  sim::GpuSpec& gpu = s.cluster.gpu;
  for (double* rate : {&gpu.fp32_flops, &gpu.tf32_flops, &gpu.fp16_flops, &gpu.memory_bandwidth_bytes_per_s})
    *rate *= speed;
  s.compute.launch_s /= speed;
  return s;
}

// The split unchanged, with wider links, longer latencies and faster GPUs, in one fidelity.
struct Four {
  sim::PointResult base, wider, longer, faster;
};

Four four_of(const sim::Scenario& s, sim::Fidelity fidelity) {
  const sim::Scenario others[]{s, with_links(s, 2, 1), with_links(s, 1, 4), with_gpus(s, 2)};
  std::vector<sim::PointJob> jobs;
  for (const sim::Scenario& other : others) {
    sim::PointRequest request;
    request.gpus = s.gpus.front();
    request.batch_per_gpu = s.batch_at(request.gpus);
    request.fidelity = fidelity;
    request.iterations = 2;
    jobs.push_back({&other, request});
  }
  // In closed form, a separate process would take longer than the prediction.
  std::vector<sim::PointResult> points;
  if (fidelity == sim::Fidelity::analytic)
    for (const sim::PointJob& job : jobs) points.push_back(sim::predict_point(*job.scenario, job.request));
  else
    points = sim::predict_points(jobs, 2);
  return {points[0], points[1], points[2], points[3]};
}

using Laws = std::vector<std::pair<const char*, bool>>;

// `tolerance`: if messages meet on a link, a change of speed may change their order.
void add_laws(const Four& four, double tolerance, Laws& laws) {
  const double time_s = four.base.mean_iteration_s(), sent = four.base.bytes_sent_per_gpu;
  laws.emplace_back("takes time", time_s > 0 && std::isfinite(time_s));
  laws.emplace_back("wider links are no slower", four.wider.mean_iteration_s() <= time_s * (1 + tolerance));
  laws.emplace_back("longer ways are no faster", four.longer.mean_iteration_s() >= time_s * (1 - tolerance));
  laws.emplace_back("faster GPUs are no slower", four.faster.mean_iteration_s() <= time_s * (1 + tolerance));
  laws.emplace_back("no link or GPU changes the bytes", four.wider.bytes_sent_per_gpu == sent &&
                                                            four.longer.bytes_sent_per_gpu == sent &&
                                                            four.faster.bytes_sent_per_gpu == sent);
  laws.emplace_back("no faster than its computation", time_s >= four.base.compute_s * (1 - 1e-9));
}

// Returns the bytes that the replay's program sends per GPU and iteration, over all replicas.
double replayed_bytes(const sim::Scenario& s) {
  const int gpus = s.gpus.front();
  sim::SplitModel model(s, sim::Cluster(s.cluster, gpus), gpus);
  return sim::split_program(s, model, 1, model.job().spec.data).bytes_sent_per_gpu_and_iteration();
}

// Messages are whole bytes, of equal parts of each exchange.
bool is_near(double bytes, double of_list) {
  return std::abs(bytes - of_list) <= 1e-2 * of_list;
}

// Gradients are scattered in parallel with passes that compute only weight gradients. The closed form waits for a
// scatter that is longer than such a pass; a replay hides it in a pipeline's idle times.
bool scatters_beside_short_passes(const sim::ParallelSpec& spec) {
  return spec.splits_backward() && spec.sharding == sim::ShardingStage::zero2;
}

std::string kept(const sim::Scenario& s, int trial) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("lockstep-random-split-" + std::to_string(trial) + ".json")).string();
  write_file_atomically(path, sim::to_json(s).dump(1) + "\n");
  return path;
}

}  // namespace

TEST_CASE("property: every split keeps the laws of links and GPUs, in closed form and replayed") {
  int broken = 0, replayed = 0, far = 0;
  for (int trial = 0; trial < cases(); ++trial) {
    Draw draw(1000 + static_cast<unsigned>(trial));
    const sim::Scenario s = random_split_scenario(draw);
    Laws laws;
    const Four closed = four_of(s, sim::Fidelity::analytic);
    add_laws(closed, 1e-9, laws);
    if (s.communication.all_reduce == sim::AllReduceKind::ring)  // NCCL's algorithms send other bytes than a ring
      laws.emplace_back("what is replayed sends the list's bytes",
                        is_near(replayed_bytes(s), closed.base.bytes_sent_per_gpu));
    if (trial % kCasesPerReplay == 0) {
      const Four flows = four_of(s, sim::Fidelity::fast);
      add_laws(flows, 1e-2, laws);
      const double ratio = closed.base.mean_iteration_s() / flows.base.mean_iteration_s();
      laws.emplace_back("the closed form is near", std::abs(ratio - 1) < 0.3);
      ++replayed;
      if (std::abs(ratio - 1) > 0.1 && !scatters_beside_short_passes(*s.parallel)) ++far;
    }
    for (const auto& [law, is_kept] : laws) {
      if (is_kept) continue;
      ++broken;
      FAIL_CHECK(replayed_bytes(s) / closed.base.bytes_sent_per_gpu
                 << " of the bytes; trial " << trial << ", " << sim::to_json(s).at("parallel").dump() << " on "
                 << s.gpus.front() << " GPUs: " << law << "; kept as " << kept(s, trial));
    }
  }
  CHECK(broken == 0);
  CHECK(far <= std::max(1, replayed / 10));
}

}  // namespace lockstep::tests
