// Laws that every schedule keeps, on random clusters, models and settings. Both replays agree. Nothing is faster than
// its computation or than its bytes over the narrowest link. Faster links and GPUs never make it slower. All fidelities
// send the same bytes. LOCKSTEP_RANDOM_CASES=10000 tries that many cases; a case that breaks a law is stored as a
// scenario.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "sim/point/point.hpp"
#include "sim/program/program_cache.hpp"
#include "sim/program/programs.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "tests/catch.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// Random numbers of one trial; the key is their purpose.
class Draw {
 public:
  explicit Draw(std::uint64_t trial) : trial_(trial) {}
  int whole(std::uint64_t what, int low, int high) const {
    return low + static_cast<int>(random_uniform(29, trial_, what) * (high - low + 1));
  }
  bool coin(std::uint64_t what) const { return whole(what, 0, 1) == 1; }
  template <class T>
  T one_of(std::uint64_t what, const std::vector<T>& choices) const {
    return choices[to_index(whole(what, 0, static_cast<int>(choices.size()) - 1))];
  }

 private:
  std::uint64_t trial_;
};

ClusterSpec random_cluster(const Draw& draw, int nodes, int per_node) {
  ClusterSpec spec = draw.coin(0) ? tests::pcie_cluster(nodes, per_node) : tests::nvswitch_cluster(nodes, per_node);
  if (draw.coin(1) && spec.intra_node.kind == IntraNodeKind::pcie_tree) spec.intra_node.pcie.switches[1].socket = 0;
  spec.intra_node.pcie.switch_uplink.bandwidth_bytes_per_s = 1e9 * draw.whole(2, 3, 12);
  spec.nic.link = {1e9 * draw.whole(3, 1, 12), 1e-6 * draw.one_of<int>(4, {1, 5, 50})};
  return spec;
}

// Makes one or more layers in sequence, some with hardly any parameters.
model::Graph random_model(const Draw& draw) {
  model::GraphBuilder builder("random", "random", {draw.whole(5, 1, 3), 16, 16});
  int last = 0;
  const int layers = draw.whole(6, 1, 4);
  for (int i = 0; i < layers; ++i) {
    const int outputs = draw.one_of<int>(7 + static_cast<std::uint64_t>(i), {1, 7, 300, 3000});
    last = builder.fc("fc" + std::to_string(i), last, outputs);
  }
  builder.softmax("loss", last);
  return builder.finish();
}

void set_communication(const Draw& draw, int gpus, Scenario& s) {
  CommunicationSpec& c = s.communication;
  const std::vector<AllReduceKind> kinds{AllReduceKind::ring,
                                         AllReduceKind::hierarchical,
                                         AllReduceKind::halving_doubling,
                                         AllReduceKind::double_binary_tree,
                                         AllReduceKind::tree,
                                         AllReduceKind::torus};
  c.all_reduce = s.algorithm == Algorithm::sharded ? AllReduceKind::ring : draw.one_of(20, kinds);
  c.group_size = draw.whole(21, 1, 5);
  for (c.torus_columns = draw.whole(22, 1, gpus); gpus % c.torus_columns != 0;) --c.torus_columns;
  c.tree_slices = draw.whole(23, 1, 8);
  c.wire = draw.coin(24) && s.algorithm != Algorithm::theano_mpi ? Wire::fp16 : Wire::fp32;
  c.fusion_threshold_bytes = draw.one_of<std::int64_t>(25, {0, 1'000'000, 100'000'000});
  c.overlap = draw.coin(26);
  c.accumulation = s.algorithm == Algorithm::s_sgd ? draw.whole(27, 1, 3) : 1;
  c.message_overhead_s = draw.coin(28) ? 5e-6 : 0;
  c.launch_overhead_s = draw.coin(29) ? 20e-6 : 0;
  if (draw.coin(30)) c.reduction_rate_bytes_per_s = 2e9;
}

void set_algorithm(const Draw& draw, int nodes_left, Scenario& s) {
  s.local_sgd.period = draw.one_of<int>(40, {1, 2, 7});
  s.sharding = {draw.one_of<std::int64_t>(41, {1, 1'000'000, 1'000'000'000}), draw.whole(42, 0, 3), draw.coin(43)};
  s.theano_mpi = {
      draw.one_of<ParameterExchange>(44, {ParameterExchange::ar, ParameterExchange::asa, ParameterExchange::asa16}),
      3e9, 5e9, 2e9};
  s.learners.per_gpu = draw.whole(45, 1, 3);
  s.learners.tau = draw.one_of<int>(46, {0, 1, 2, 7});
  s.learners.round_robin = draw.coin(47);
  s.learners.by_host = draw.coin(48);
  s.learners.overlap = !s.learners.by_host && draw.coin(49);
  s.learners.host_wait_s = 10e-6;
  s.learners.fill = {{1, draw.one_of<double>(50, {0.3, 0.6, 1})}};
  const bool separate = nodes_left > 0 && draw.coin(51);
  const int servers = separate ? draw.whole(52, 1, nodes_left) : draw.one_of<int>(52, {1, 2, 9});
  if (s.algorithm == Algorithm::parameter_server) {
    s.parameter_server.emplace();
    ParameterServerSpec& ps = *s.parameter_server;
    ps.scheme = draw.one_of<ServerScheme>(53, {ServerScheme::server, ServerScheme::factors, ServerScheme::best,
                                               ServerScheme::adam, ServerScheme::one_bit});
    ps.separate = separate;
    ps.servers = servers;
    ps.shards_tensors = draw.coin(54);
    ps.pair_bytes = draw.one_of<std::int64_t>(55, {100'000, 2'000'000});
    ps.barrier = draw.coin(56);
    if (draw.coin(57)) ps.staging_bytes_per_s = 3e9;
    ps.staging_overlaps = draw.coin(58);
    if (draw.coin(59)) ps.apply_bytes_per_s = 2e9;
  }
  if (!has_workers(s.algorithm)) return;
  s.workers.emplace();
  WorkersSpec& w = *s.workers;
  w.separate = separate;
  w.servers = s.algorithm == Algorithm::async_easgd ? 1 : servers;
  if (s.algorithm == Algorithm::backup_workers) {
    w.backups = s.gpus[0] > 1 ? draw.whole(60, 0, 1) : 0;
    w.is_interrupted = draw.coin(61);
  }
  if (s.algorithm == Algorithm::async_sgd) {
    w.by_module = draw.coin(62);
    w.reads_in_forward = draw.coin(63);
    w.sends_in_backward = draw.coin(64);
  }
  if (s.algorithm == Algorithm::async_easgd) w.period = draw.one_of<int>(65, {1, 2, 30});
  if (draw.coin(66)) w.apply_bytes_per_s = 5e9;
}

// Input on the links, read from a file server where the cluster has a node for it.
void set_input(const Draw& draw, int nodes_left, Scenario& s) {
  if (has_workers(s.algorithm) || !draw.coin(80)) return;
  s.input.is_on_links = true;
  s.input.bytes_per_sample = draw.one_of<double>(81, {1e4, 1e6, 1e7});
  const bool has_servers = s.parameter_server && s.parameter_server->separate;
  if (nodes_left - (has_servers ? s.parameter_server->servers : 0) < 1 || !draw.coin(82)) return;
  s.input.loading.file_bytes_per_sample = draw.one_of<double>(83, {1e4, 1e6});
  s.input.loading.nfs_bandwidth_bytes_per_s = 1e9 * draw.whole(84, 1, 20);
}

Scenario random_scenario(const Draw& draw, Algorithm algorithm) {
  const int per_node = draw.whole(70, 1, 4), nodes = draw.whole(71, 2, 5);
  const int occupied = draw.whole(72, 1, nodes);
  Scenario s;
  s.name = name_of(algorithm);
  s.algorithm = algorithm;
  s.cluster = random_cluster(draw, nodes, per_node);
  s.model = random_model(draw);
  s.gpus = {occupied == 1 ? draw.whole(73, 1, per_node) : occupied * per_node};
  s.baseline_gpus = 1;
  s.batch = {{64, 8}};
  s.compute.launch_s = 5e-6;
  s.compute.compute_efficiency = {{1, 0.5}};
  s.compute.memory_efficiency = 0.8;
  if (draw.coin(74)) {
    s.compute.jitter = JitterKind::lognormal;
    s.compute.jitter_variation = 0.05;
  }
  s.uncertainty = {0.05, 0.1, 0.2, 0};
  set_communication(draw, s.gpus[0], s);
  set_algorithm(draw, nodes - occupied, s);
  set_input(draw, nodes - occupied, s);
  if (draw.coin(75)) s.compute.overlap_slowdown = 1.3;
  return s;
}

Scenario with_links(Scenario s, double bandwidth, double latency) {
  PcieTreeSpec& pcie = s.cluster.intra_node.pcie;
  for (LinkSpec* link : {&s.cluster.intra_node.gpu_link, &pcie.gpu_link, &pcie.switch_uplink, &pcie.socket_link,
                         &s.cluster.nic.link, &s.cluster.fabric.link}) {
    link->bandwidth_bytes_per_s *= bandwidth;
    link->latency_s *= latency;
  }
  return s;
}

// Scales arithmetic, memory and processor together, including the part of an iteration that is no kernel.
Scenario with_gpus(Scenario s, double speed) {
  GpuSpec& gpu = s.cluster.gpu;
  for (double* rate : {&gpu.fp32_flops, &gpu.tf32_flops, &gpu.fp16_flops, &gpu.memory_bandwidth_bytes_per_s})
    *rate *= speed;
  s.compute.launch_s /= speed;
  return s;
}

std::uint64_t cases() {
  const char* const said = std::getenv("LOCKSTEP_RANDOM_CASES");
  return said == nullptr ? 60 : std::strtoull(said, nullptr, 10);
}

// The scenario as a file that simulate reads; its path.
std::string kept(const Scenario& s, std::uint64_t trial) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("lockstep-random-case-" + std::to_string(trial) + ".json")).string();
  write_file_atomically(path, to_json(s).dump(1) + "\n");
  return path;
}

PointJob job_of(const Scenario& s, Fidelity fidelity) {
  PointRequest request;
  request.gpus = s.gpus[0];
  request.batch_per_gpu = 8;
  request.fidelity = fidelity;
  request.iterations = 3;
  return {&s, request};
}

// What is asked of a scenario, and the times that come out, by the names of this struct.
struct Asked {
  Scenario base, wider, slower, faster;
  bool is_program;
  std::vector<PointResult> points;

  explicit Asked(const Scenario& s)
      : base(s),
        wider(with_links(s, 2, 1)),
        slower(with_links(s, 1, 3)),
        faster(with_gpus(s, 2)),
        is_program(!has_workers(s.algorithm)) {
    std::vector<PointJob> jobs{job_of(base, Fidelity::message), job_of(base, Fidelity::fast)};
    if (is_program)
      for (const Fidelity fidelity : {Fidelity::fast, Fidelity::analytic})
        for (const Scenario* other : {&base, &wider, &slower, &faster})
          if (other != &base || fidelity == Fidelity::analytic) jobs.push_back(job_of(*other, fidelity));
    points = predict_points(jobs, 2);
  }
  double message() const { return points[0].mean_iteration_s(); }
  double fast(int other = 0) const { return points[to_index(1 + other)].mean_iteration_s(); }
  double analytic(int other = 0) const { return points[to_index(5 + other)].mean_iteration_s(); }
};

// Others by their place in Asked.
constexpr int kWider = 1, kSlower = 2, kFaster = 3;

using Law = std::pair<const char*, bool>;

std::vector<Law> laws_of_programs(const Asked& a) {
  // If copies meet collectives, the closed form depends on which of them starts first, and that may change.
  const double tolerance = a.base.input.is_on_links ? 0.1 : 1e-9;
  const double sent = a.points[0].bytes_sent_per_gpu;
  const bool sends_alike = std::all_of(a.points.begin(), a.points.end(), [&](const PointResult& point) {
    return point.bytes_sent_per_gpu == Approx(sent).epsilon(1e-12);
  });
  std::vector<Law> laws{{"no fidelity, link or GPU changes the bytes", sends_alike},
                        {"fast: wider links are no slower", a.fast(kWider) <= a.fast() * (1 + 1e-3)},
                        {"fast: longer links are no faster", a.fast(kSlower) >= a.fast() * (1 - 1e-3)},
                        {"fast: faster GPUs are no slower", a.fast(kFaster) <= a.fast() * (1 + 1e-3)},
                        {"the closed form is near", a.analytic() == Approx(a.message()).epsilon(0.25)},
                        {"closed form: wider links", a.analytic(kWider) <= a.analytic() * (1 + tolerance)},
                        {"closed form: longer links", a.analytic(kSlower) >= a.analytic() * (1 - tolerance)},
                        {"closed form: faster GPUs", a.analytic(kFaster) <= a.analytic() * (1 + tolerance)}};
  if (a.base.trains_learners()) return laws;  // the learners of a GPU compute concurrently
  for (const int job : {0, 1, 5}) {
    const PointResult& point = a.points[to_index(job)];
    laws.emplace_back("no faster than its computation", point.mean_iteration_s() >= point.compute_s * (1 - 1e-9));
    // A GPU alone on its node sends over its NIC all that it sends; the busiest no less than the mean.
    if (a.base.cluster.gpus_per_node == 1)
      laws.emplace_back("no faster than its bytes",
                        point.mean_iteration_s() >= sent / a.base.cluster.nic.link.bandwidth_bytes_per_s);
  }
  return laws;
}

// Whether its written form can be read, and is then written identically.
bool is_read_as_written(const Scenario& s) {
  const Json written = to_json(s);
  try {
    const auto read = sim::ScenarioTemplate::parse(written.dump(), "written.json").with({});
    const Json again = to_json(read.variants.front());
    UNSCOPED_INFO(Json::diff(written, again).dump());
    return again == written;
  } catch (const InputError& error) {
    UNSCOPED_INFO(error.what());
    return false;
  }
}

std::vector<Law> laws_of(const Asked& a) {
  std::vector<Law> laws;
  if (a.is_program) laws = laws_of_programs(a);
  laws.emplace_back("takes time", a.message() > 0);
  laws.emplace_back("is read as it is written", is_read_as_written(a.base));
  laws.emplace_back("both replays agree", a.fast() == Approx(a.message()).epsilon(1e-3));
  return laws;
}

void write(const Work& work, std::ostream& out) {
  out << static_cast<int>(work.kind) << ' ' << work.stream << ' ' << work.iteration << ' ' << work.name << ' '
      << work.seconds << ' ' << work.fill << ' ' << work.crowding << ' ' << work.draw << ' ' << work.plan << ' '
      << static_cast<int>(work.source) << ' ' << work.bytes << ' ' << work.slows << " after";
  for (const int before : work.after) out << ' ' << before;
  for (std::size_t i = 0; work.parts && i < work.parts->size(); ++i)
    out << ' ' << (*work.parts)[i].name << ' ' << (*work.parts)[i].seconds;
  out << '\n';
}

void write(const Plan& plan, std::ostream& out) {
  out << plan.algorithm << ' ' << plan.ranks << ' ' << plan.bytes << '\n';
  for (const Phase& phase : plan.phases) {
    out << phase.rounds;
    for (const Transfer& transfer : phase.transfers)
      out << ' ' << transfer.src << ' ' << transfer.dst << ' ' << transfer.bytes << ' ' << transfer.reduces;
    out << '\n';
  }
}

std::string text_of(const Program& program) {
  std::ostringstream out;
  out << std::hexfloat << program.gpus << ' ' << program.fed_gpus << ' ' << program.iterations << ' ' << program.draws
      << ' ' << program.shares_gpu << ' ' << program.reduction_rate_bytes_per_s << '\n';
  for (const int role : program.roles) out << role << ' ';
  for (const std::string& stream : program.streams) out << stream << ' ';
  for (const int end : program.iteration_ends) out << end << ' ';
  for (const Plan& plan : program.plans) write(plan, out);
  for (const Work& work : program.work) write(work, out);
  return out.str();
}

}  // namespace

TEST_CASE("law: a program of few iterations is the beginning of one of more, and parts of other programs change none") {
  ProgramCache cache;
  for (std::uint64_t trial = 0; trial < cases(); ++trial) {
    const Choices<Algorithm>& all = choices_of(Algorithm());
    const Scenario s = random_scenario(Draw(trial), all[trial % all.size()].value);
    if (has_workers(s.algorithm)) continue;
    INFO("trial " << trial << ", " << name_of(s.algorithm));
    for (const int batch : {8, 4, 8}) {
      const int few = s.trains_learners() ? std::max(1, s.learners.tau) : iterations_of_round(s);
      const std::string alone = text_of(build_program(s, s.gpus[0], batch, few));
      const Program longer = build_program(s, s.gpus[0], batch, 3 * few, &cache);
      CHECK(text_of(first_iterations(longer, few)) == alone);
      CHECK(text_of(first_iterations(longer, 3 * few)) == text_of(longer));
      CHECK(text_of(build_program(s, s.gpus[0], batch, few, &cache)) == alone);
    }
  }
}

TEST_CASE("property: every schedule on random clusters, both replays agree, and no law of the links is broken") {
  int broken = 0;
  for (std::uint64_t trial = 0; trial < cases(); ++trial) {
    const Choices<Algorithm>& all = choices_of(Algorithm());
    const Scenario s = random_scenario(Draw(trial), all[trial % all.size()].value);
    for (const auto& [law, is_kept] : laws_of(Asked(s))) {
      if (is_kept) continue;
      ++broken;
      FAIL_CHECK("trial " << trial << ", " << name_of(s.algorithm) << " on " << s.gpus[0] << " GPUs by "
                          << name_of(s.communication.all_reduce) << ": " << law << "; kept as " << kept(s, trial));
    }
  }
  CHECK(broken == 0);
}
