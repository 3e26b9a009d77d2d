// Where a step's time goes against where it should go, by traces of ranks.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "sim/explain/check_command.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/kineto_trace.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

using calib::StepPart;

sim::CheckOptions options_of(const std::string& model, int batch, const std::string& sequence) {
  sim::CheckOptions options;
  options.question.job.model.stated = model + "@" + sequence;
  options.question.job.batch_per_gpu = batch;
  options.question.gpus = {1};
  options.question.ignores_memory = true;
  return options;
}

sim::CheckResult check_traces(sim::CheckOptions options, const std::vector<std::string>& files,
                              const std::string& good = "") {
  options.files = files;
  options.good_file = good;
  const auto none = [](const std::string&) { return false; };
  return sim::check(sim::read_measurements(options, catalogue(), none), catalogue(), 1,
                    sim::read_good_log(options, catalogue(), none));
}

double lost_in(const sim::StepBreakdown& breakdown, StepPart part) {
  for (const sim::PartTime& one : breakdown.parts)
    if (one.part == part) return one.lost_s();
  return NAN;
}

// Measured and expected parts add up to both steps, and lost times to the difference.
void check_sums(const sim::StepBreakdown& breakdown) {
  double measured = 0, expected = 0, lost = 0;
  for (const sim::PartTime& one : breakdown.parts) {
    measured += one.measured_s;
    expected += one.expected.seconds;
    lost += one.lost_s();
    CHECK(one.measured_s >= 0);
    CHECK(one.expected.seconds >= 0);
    CHECK(one.expected.low_s <= one.expected.seconds);
    CHECK(one.expected.high_s >= one.expected.seconds);
  }
  CHECK(measured == Approx(breakdown.measured_s));
  CHECK(expected == Approx(breakdown.expected.seconds));
  CHECK(lost == Approx(breakdown.measured_s - breakdown.expected.seconds).margin(1e-9));
}

// The kernels of a step that was profiled on an H100, one after the other.
KinetoTrace trace_of_h100(const Json& profiled) {
  KinetoTrace trace;
  const double step_us = profiled.at("step_s").get<double>() * 1e6;
  for (int step = 0; step < 3; ++step) {
    double at_us = step * step_us;
    trace.add_step(step, at_us, step_us);
    for (const Json& kernel : profiled.at("kernels")) {
      const std::string name = kernel.at("name");
      if (name.rfind("aten::", 0) == 0 || name.rfind("Optimizer", 0) == 0) continue;  // operators of the host
      const double duration_us = kernel.at("s").get<double>() * 1e6;
      trace.add_kernel(name, step * step_us, at_us, duration_us);
      at_us += duration_us;
    }
  }
  return trace;
}

// 8 ranks of 100 us steps: `work_us` of GEMMs, then an all-reduce until 95 us.
std::vector<std::string> eight_ranks(const TemporaryFolder& folder, const std::vector<double>& work_us) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 8; ++rank) {
    KinetoTrace trace;
    trace.set_rank(rank, 8);
    const double work = work_us[static_cast<std::size_t>(rank) % work_us.size()];
    for (int step = 0; step < 4; ++step) {
      trace.add_step(step, 100 * step, 100);
      trace.add_kernel("gemm", 100 * step, 100 * step, work);
      trace.add_collective("allreduce", 100 * step, 100 * step + work, 95 - work, 1 << 20, 8);
    }
    files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.text()));
  }
  return files;
}

// Makes a trace of three steps with these parts in sequence, on one rank of `gpus`.
KinetoTrace trace_of_parts(const calib::PartSeconds& parts, int gpus) {
  KinetoTrace trace;
  trace.set_rank(0, gpus);
  const auto us = [&](StepPart part) { return 1e6 * part_of(parts, part); };
  double step_us = 0;
  for (double seconds : parts) step_us += 1e6 * seconds;
  for (int step = 0; step < 3; ++step) {
    const double begin_us = step * step_us;
    double at_us = begin_us;
    trace.add_step(step, begin_us, step_us);
    const auto add = [&](const char* name, StepPart part) {
      trace.add_kernel(name, begin_us, at_us, us(part));
      at_us += us(part);
    };
    add("gemm", StepPart::gemm);
    add("flash_fwd", StepPart::attention);
    add("elementwise", StepPart::memory);
    trace.add_collective("allreduce", begin_us, at_us, us(StepPart::communication), 1 << 20, gpus);
  }
  return trace;
}

}  // namespace

TEST_CASE("steps of one duration have the causes of the parts in which they lose it") {
  const TemporaryFolder folder;
  sim::CheckOptions options = options_of("llama3.2-1b", 2, "4096");
  options.question.gpus = {8};
  const auto check_parts = [&](const calib::PartSeconds& parts) {
    return check_traces(options, {folder.write("t.json", trace_of_parts(parts, 8).text())});
  };
  calib::PartSeconds expected{};
  const sim::CheckResult any = check_parts({1e-3, 1e-3, 1e-3, 1e-3, 0, 0});
  for (const sim::PartTime& one : any.breakdowns.front().parts) part_of(expected, one.part) = one.expected.seconds;
  const sim::CheckResult same = check_parts(expected);
  CHECK(same.share == Approx(1).epsilon(1e-3));
  CHECK(same.causes.front().id == sim::CauseId::normal);
  CHECK(same.scored.size() == calib::kStepParts);

  double step_s = 0;
  for (double seconds : expected) step_s += seconds;
  calib::PartSeconds of_host = expected, of_network = expected, of_clock = expected;
  part_of(of_host, StepPart::host) += step_s;
  part_of(of_network, StepPart::communication) += step_s;
  for (double& seconds : of_clock) seconds *= 2;
  const sim::CheckResult host = check_parts(of_host), network = check_parts(of_network), clock = check_parts(of_clock);
  for (const sim::CheckResult* result : {&host, &network, &clock}) CHECK(result->share == Approx(0.5).epsilon(1e-2));
  CHECK(host.causes.front().id == sim::CauseId::data_loader);
  CHECK(clock.causes.front().id == sim::CauseId::low_clocks);
  const std::vector<sim::CauseId> of_links{sim::CauseId::pcie_link, sim::CauseId::no_peer_access,
                                           sim::CauseId::slow_link};
  CHECK(std::count(of_links.begin(), of_links.end(), network.causes.front().id) == 1);
  REQUIRE(network.causes.front().most_for);
  CHECK(network.scored[network.causes.front().most_for->observation].name == std::string("exposed communication"));
}

TEST_CASE(
    "on steps that were profiled on an H100 lost times add up to the difference, and no part takes the time of "
    "another") {
  const TemporaryFolder folder;
  std::ifstream lines(std::string(LOCKSTEP_SOURCE_DIR) + "/results/h100/2026-11-26/second/kernels.jsonl");
  std::string line;
  int checked = 0;
  while (std::getline(lines, line)) {
    const Json profiled = Json::parse(line);
    const std::string configuration = profiled.at("configuration");
    sim::CheckOptions options;
    if (configuration == "gpt2:1024:16:amp") options = options_of("gpt2", 16, "1024");
    if (configuration == "gpt2_xl:1024:4:amp") options = options_of("gpt2-xl", 4, "1024");
    if (configuration == "llama3_2_1b:4096:2") options = options_of("llama3.2-1b", 2, "4096");
    if (options.question.gpus.empty()) continue;
    INFO(configuration);
    const bool is_mixed = configuration.find("amp") != std::string::npos;
    options.question.job.precision = is_mixed ? sim::RecordPrecision::mixed : sim::RecordPrecision::bf16_true;
    const sim::CheckResult result = check_traces(options, {folder.write("h100.json", trace_of_h100(profiled).text())});
    CHECK(result.speed == sim::Speed::normal);
    CHECK(result.causes.front().id == sim::CauseId::normal);
    REQUIRE(result.breakdowns.size() == 1);
    const sim::StepBreakdown& breakdown = result.breakdowns.front();
    check_sums(breakdown);
    CHECK(breakdown.measured_s == Approx(profiled.at("step_s").get<double>()));
    for (const sim::PartTime& one : breakdown.parts) {
      INFO(name_of(one.part));
      CHECK(std::abs(one.lost_s()) < 0.15 * breakdown.measured_s);
    }
    CHECK_FALSE(breakdown.straggler);
    ++checked;
  }
  CHECK(checked == 3);
}

TEST_CASE("the rank that the others wait for is the straggler, and equal ranks have none") {
  const TemporaryFolder folder;
  sim::CheckOptions options = options_of("gpt2", 1, "1024");
  options.question.gpus = {8};
  const sim::CheckResult late = check_traces(options, eight_ranks(folder, {40, 41, 42, 60, 40, 41, 42, 40}));
  REQUIRE(late.breakdowns.size() == 1);
  const sim::StepBreakdown& breakdown = late.breakdowns.front();
  check_sums(breakdown);
  REQUIRE(breakdown.straggler);
  CHECK(breakdown.ranks[*breakdown.straggler].rank == 3);
  CHECK(breakdown.wait_for_straggler_s == Approx(19e-6));
  REQUIRE(breakdown.collectives.size() == 1);
  CHECK(breakdown.collectives[0].measured_s == Approx(35e-6));  // of the straggler, which waits for nobody
  REQUIRE(breakdown.collectives[0].expected);
  CHECK(breakdown.collectives[0].expected->seconds > 0);
  CHECK_FALSE(check_traces(options, eight_ranks(folder, {40})).breakdowns.front().straggler);
}

TEST_CASE("waiting for a slow rank is a slow GPU's fault and not the network's, and is no time of the collective") {
  const TemporaryFolder folder;
  sim::CheckOptions options = options_of("llama3.2-1b", 2, "4096");
  options.question.gpus = {8};
  calib::PartSeconds expected{};
  const sim::CheckResult any =
      check_traces(options, {folder.write("t.json", trace_of_parts({1e-3, 1e-3, 1e-3, 1e-3, 0, 0}, 8).text())});
  for (const sim::PartTime& one : any.breakdowns.front().parts) part_of(expected, one.part) = one.expected.seconds;
  const double transfer_us = 1e6 * part_of(expected, StepPart::communication);
  // Rank 2 computes for 2.2 times as long as the others.
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank) {
    KinetoTrace trace;
    trace.set_rank(rank, 8);
    double slowest_us = 0;
    for (StepPart part : {StepPart::gemm, StepPart::attention, StepPart::memory})
      slowest_us += 2.2 * 1e6 * part_of(expected, part);
    for (int step = 0; step < 3; ++step) {
      const double begin_us = step * (slowest_us + transfer_us);
      double at_us = begin_us;
      trace.add_step(step, begin_us, slowest_us + transfer_us);
      for (const auto& [name, part] : {std::pair<const char*, StepPart>{"gemm", StepPart::gemm},
                                       {"flash_fwd", StepPart::attention},
                                       {"elementwise", StepPart::memory}}) {
        const double us = (rank == 2 ? 2.2 : 1) * 1e6 * part_of(expected, part);
        trace.add_kernel(name, begin_us, at_us, us);
        at_us += us;
      }
      trace.add_collective("allreduce", begin_us, at_us, begin_us + slowest_us + transfer_us - at_us, 1 << 20, 8);
    }
    files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.text()));
  }
  const sim::CheckResult result = check_traces(options, files);
  CHECK(result.speed == sim::Speed::slow);
  CHECK(result.causes.front().id == sim::CauseId::low_clocks);
  const sim::StepBreakdown& breakdown = result.breakdowns.front();
  check_sums(breakdown);
  REQUIRE(breakdown.straggler);
  CHECK(breakdown.ranks[*breakdown.straggler].rank == 2);
  CHECK(breakdown.collectives.front().measured_s == Approx(1e-6 * transfer_us));
}

TEST_CASE("a split job's expected parts have communication, and add up") {
  const TemporaryFolder folder;
  sim::CheckOptions options = options_of("llama3-8b", 0, "4096");
  options.question.job.global_batch = 16;
  options.question.gpus = {8};
  options.question.job.split.give("tensor", 2);
  options.question.job.split.give("pipeline", 2);
  options.question.job.split.give("recompute", "full");
  const sim::CheckResult result = check_traces(options, eight_ranks(folder, {50}));
  const sim::StepBreakdown& breakdown = result.breakdowns.front();
  check_sums(breakdown);
  CHECK(lost_in(breakdown, StepPart::communication) < 0);  // the trace's step is far too short
  CHECK(lost_in(breakdown, StepPart::attention) < 0);
  // Three quarters of the arithmetic is of matrices: forward, again, and twice backward.
  CHECK(-lost_in(breakdown, StepPart::gemm) > 0.4 * breakdown.expected.seconds);
}

TEST_CASE("against a good trace the expected parts are the good one's") {
  const TemporaryFolder folder;
  KinetoTrace good, bad;
  for (int step = 0; step < 4; ++step) {
    good.add_step(step, 100 * step, 100);
    good.add_kernel("gemm", 100 * step, 100 * step, 60);
    good.add_kernel("elementwise", 100 * step, 100 * step + 60, 35);
    bad.add_step(step, 150 * step, 150);
    bad.add_kernel("gemm", 150 * step, 150 * step, 110);
    bad.add_kernel("elementwise", 150 * step, 150 * step + 110, 35);
  }
  const sim::CheckResult result = check_traces(options_of("gpt2", 1, "1024"), {folder.write("bad.json", bad.text())},
                                               folder.write("good.json", good.text()));
  CHECK(result.share == Approx(100.0 / 150));
  REQUIRE(result.breakdowns.size() == 1);
  check_sums(result.breakdowns.front());
  CHECK(lost_in(result.breakdowns.front(), StepPart::gemm) == Approx(50e-6));
  CHECK(lost_in(result.breakdowns.front(), StepPart::memory) == Approx(0).margin(1e-12));
}

TEST_CASE("traces of one rank twice, of different jobs, or of another number of GPUs are refused with both names") {
  const TemporaryFolder folder;
  sim::CheckOptions options = options_of("gpt2", 1, "1024");
  options.question.gpus = {8};
  const std::vector<std::string> files = eight_ranks(folder, {40});
  const auto error = [&](const std::vector<std::string>& of) {
    return error_of([&] { (void)check_traces(options, of); });
  };
  CHECK_THAT(error({files[0], files[1], files[0]}), Contains("rank0.json: is of rank 0, as ") && Contains(" is;"));
  KinetoTrace other;
  other.set_rank(2, 4);
  other.add_step(0, 0, 9);
  other.add_kernel("gemm", 0, 1, 3);
  CHECK_THAT(error({files[0], folder.write("other.json", other.text())}), Contains("is of 4 processes, and "));
  options.question.gpus = {16};
  CHECK_THAT(error(files), Contains("has gpus 8, and --gpus 16 is given"));
}

TEST_CASE("calibrate check prints where a step's time goes, and writes it as JSON") {
  const TemporaryFolder folder;
  eight_ranks(folder, {40, 40, 40, 60});
  const Outcome outcome = run_program(
      folder.path(""), "calibrate",
      "check rank0.json rank1.json rank2.json rank3.json --model gpt2 --batch 1 --json check.json --html check.html");
  CHECK_THAT(outcome.out, Contains("where the step's time goes"));
  CHECK_THAT(outcome.out, Contains("Slowest rank: 3 (rank3.json)."));
  const Json json = Json::parse(slurp(folder.path("check.json")));
  const Json& breakdown = json["breakdowns"][0];
  double lost = 0;
  for (const Json& part : breakdown["parts"]) lost += part["lost_s"].get<double>();
  CHECK(lost == Approx(breakdown["measured_s"].get<double>() - breakdown["expected_s"].get<double>()).margin(1e-9));
  CHECK(breakdown["straggler"] == 3);
  CHECK(breakdown["ranks"][3]["last_arrivals"] == 1);
  CHECK(breakdown["ranks"][3]["delays_s"].get<double>() == Approx(20e-6));
  CHECK(breakdown["critical_path"].back()["end_s"].get<double>() == Approx(breakdown["measured_s"].get<double>()));
  CHECK_THAT(outcome.out, Contains("others wait for it") && Contains("Critical path over the ranks:"));
  CHECK(breakdown["collectives"][0]["operation"] == "all-reduce");
  CHECK(json["provenance"]["inputs"].size() == 4);
  const std::string page = slurp(folder.path("check.html"));
  CHECK_THAT(page, Contains("<svg") && Contains(">measured</text>") && Contains(">expected</text>"));
  CHECK_THAT(page, Contains("rank 3, slowest") && Contains("critical path") && Contains("default-src 'none'"));
  CHECK(page.find("<script") == std::string::npos);
}

}  // namespace lockstep::tests
