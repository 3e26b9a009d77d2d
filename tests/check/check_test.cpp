#include "sim/explain/check_command.hpp"

#include <cmath>

#include "sim/explain/predicted_times.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/check/nccl_log.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

const std::vector<double> kSizes{1 << 20, 16 << 20, 256 << 20, double(std::int64_t{1} << 32)};

sim::MeasuredCollective two_nodes() {
  sim::MeasuredCollective one{"a.log", "all-reduce", {}, {}};
  one.question.gpu = "H100";
  one.question.network = "8x 400 Gb/s InfiniBand";
  one.question.gpus = {16};
  one.question.gpus_per_node = 8;
  for (double bytes : kSizes) one.points.push_back({static_cast<std::int64_t>(bytes), 1});
  return one;
}

std::vector<double> times_of(sim::MeasuredCollective one, const sim::FaultVariant& variant) {
  sim::AllReduceQuestion question = one.question;
  if (!variant.network.empty()) question.network = variant.network;
  if (!variant.link.empty()) question.link = variant.link;
  for (const auto& point : one.points) question.sizes.push_back(std::to_string(point.bytes) + " B");
  sim::Catalogue faulty = catalogue();
  if (variant.change_gpu) faulty.gpus.change("h100-sxm", variant.change_gpu);
  std::vector<double> seconds;
  for (const sim::AllReduceTime& row : sim::all_reduce_times(question, faulty, 1, variant.change_workload).rows)
    seconds.push_back(row.seconds);
  return seconds;
}

sim::CheckResult check_times(const std::vector<double>& seconds) {
  sim::MeasuredCollective one = two_nodes();
  for (std::size_t i = 0; i < seconds.size(); ++i) one.points[i].seconds = seconds[i];
  return sim::check({{one}, {}}, catalogue(), 1);
}

std::vector<sim::Fault> faults() {
  return sim::machine_faults(catalogue(), sim::machine_of(catalogue(), "H100", "", "8x 400 Gb/s InfiniBand", 8, 16));
}

sim::MeasuredStep step_of(double seconds) {
  sim::MeasuredStep step;
  step.question.job.model.stated = "llama3-8b";
  step.question.job.gpu.stated = "H100";
  step.question.job.global_batch = 64;
  step.question.job.split.give("tensor", 2);
  step.question.job.split.give("pipeline", 2);
  step.question.gpus = {16};
  step.seconds = seconds;
  return step;
}

double probability_of(const sim::CheckResult& result, sim::CauseId id) {
  for (const sim::RankedCause& cause : result.causes)
    if (cause.id == id) return cause.probability;
  return 0;
}

}  // namespace

TEST_CASE(
    "likelihood is highest at the prediction, falls alike on both sides, and does not depend on the unit of time") {
  const auto at = [](double factor, double unit = 1) {
    return sim::log_likelihood({2 * factor * unit, 3 * factor * unit},
                               {{2 * unit, 1.5 * unit, 2.6 * unit}, {3 * unit, 2 * unit, 4 * unit}}, {1, 1});
  };
  CHECK(at(1) > at(1.2));
  CHECK(at(1.2) > at(1.5));
  CHECK(at(1.3) == Approx(at(1 / 1.3)));
  CHECK(at(1.3, 1e-6) == Approx(at(1.3)));
  // Doubling a weightless measurement changes nothing.
  CHECK(sim::log_likelihood({2, 9}, {{2, 1, 4}, {3, 2, 4}}, {1, 0}) ==
        Approx(sim::log_likelihood({2}, {{2, 1, 4}}, {1})));
}

TEST_CASE("probabilities and priors sum to 1, and likelihoods are averaged without overflow") {
  double sum = 0;
  for (double p : sim::normalised({-1e4, -1e4 + 1, -2e4})) sum += p;
  CHECK(sum == Approx(1));
  CHECK(sim::log_mean({-1000, -1000}) == Approx(-1000));
  std::vector<sim::CauseId> all;
  for (const sim::Cause& cause : sim::causes()) all.push_back(cause.id);
  double priors = 0;
  for (sim::CauseId id : all) priors += sim::prior_of(id, all, {true, false});
  CHECK(priors == Approx(1));
  // Recomputation slows no collective.
  CHECK(sim::prior_of(sim::CauseId::recomputation, all, {false, true}) >
        4 * sim::prior_of(sim::CauseId::recomputation, all, {true, false}));
  CHECK(sim::causes().size() == choice_names<sim::CauseId>().size());
}

TEST_CASE("the prediction itself is normal, a tenth of the time is faster, and ten times it is slow") {
  const std::vector<double> expected = times_of(two_nodes(), {});
  const auto scaled = [&](double factor) {
    std::vector<double> seconds = expected;
    for (double& s : seconds) s *= factor;
    return check_times(seconds);
  };
  CHECK(scaled(1).speed == sim::Speed::normal);
  CHECK(scaled(1).share == Approx(1));
  CHECK(scaled(1).causes.front().id == sim::CauseId::normal);
  CHECK(scaled(0.1).speed == sim::Speed::fast);
  CHECK(scaled(10).speed == sim::Speed::slow);
  CHECK(scaled(10).share == Approx(0.1));
  CHECK(scaled(10).is_accepted(0.05));
  CHECK_FALSE(scaled(1).is_accepted(1.1));
}

TEST_CASE("a job without fused attention takes longer, in whichever way its model is described") {
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 8,
          "num_attention_heads": 16, "vocab_size": 32000, "max_position_embeddings": 8192}@8192)";
  for (const std::string& model : {std::string("gpt2"), std::string("llama2_7b"), config}) {
    INFO(model);
    sim::MeasuredStep step = step_of(1);
    step.question.job.model.stated = model;
    const double fused_s = sim::predict_step(step, {catalogue(), 1}).expected.seconds;
    step.question.job.fused_attention = false;
    const double unfused_s = sim::predict_step(step, {catalogue(), 1}).expected.seconds;
    CHECK(unfused_s > 1.02 * fused_s);
    CHECK(unfused_s < 5 * fused_s);
    // A job that has none cannot lose it.
    step.seconds = 2 * unfused_s;
    CHECK(probability_of(sim::check({{}, {step}}, catalogue(), 1), sim::CauseId::attention) == 0);
  }
}

TEST_CASE("no fault makes large all-reduces faster, and times of a fault are explained by it") {
  const std::vector<double> expected = times_of(two_nodes(), {});
  for (const sim::Fault& fault : faults())
    for (const sim::FaultVariant& variant : fault.variants) {
      INFO(name_of(fault.id) << " " << variant.text);
      const std::vector<double> seconds = times_of(two_nodes(), variant);
      CHECK(seconds.back() >= 0.999 * expected.back());
      if (seconds.back() < 1.5 * expected.back()) continue;  // within the interval it may as well be nothing
      const sim::CheckResult result = check_times(seconds);
      int place = 0;
      while (result.causes[static_cast<std::size_t>(place)].id != fault.id) ++place;
      CHECK(place < 3);
      CHECK(result.speed == sim::Speed::slow);
    }
}

TEST_CASE("a step's causes are those that its job can have, and what the log says is none of them") {
  const sim::CheckResult slow = sim::check({{}, {step_of(14)}}, catalogue(), 1);
  CHECK(slow.speed == sim::Speed::slow);
  CHECK(probability_of(slow, sim::CauseId::precision) > 0);
  CHECK(probability_of(slow, sim::CauseId::bubble) > 0);
  CHECK(probability_of(slow, sim::CauseId::experts) == 0);  // Llama 3 8B has none
  CHECK(probability_of(slow, sim::CauseId::pauses) == 0);   // a steady step has none
  sim::MeasuredStep logged = step_of(14);
  logged.precision_is_logged = true;
  CHECK(probability_of(sim::check({{}, {logged}}, catalogue(), 1), sim::CauseId::precision) == 0);
}

TEST_CASE("a normal collective beside a slow step rules out the network, and a slow one points to it") {
  sim::MeasuredCollective collective = two_nodes();
  const std::vector<double> expected = times_of(collective, {});
  const auto with = [&](double factor) {
    for (std::size_t i = 0; i < expected.size(); ++i) collective.points[i].seconds = factor * expected[i];
    return probability_of(sim::check({{collective}, {step_of(14)}}, catalogue(), 1), sim::CauseId::sockets);
  };
  CHECK(with(1) < 1e-3);
  CHECK(with(100) > 0.1);
}

TEST_CASE("logs of every program and of nccl-tests are checked as they are, and say what is missing") {
  const TemporaryFolder folder;
  for (const LogExample& example : log_examples()) {
    INFO(example.format);
    sim::CheckOptions options;
    options.files = {folder.write("a.log", log_of(example, usual_steps(2)))};
    options.question.job.gpu.stated = "H100";
    if (example.format != "llm.c") options.question.job.model.stated = "llama3-8b";
    const auto is_given = [](const std::string& name) { return name == "--gpu" || name == "--model"; };
    if (example.facts.contains("gpus")) options.question.gpus = {16};
    if (example.facts.contains("global_batch")) options.question.job.global_batch = 64;
    if (example.facts.contains("sharding")) options.question.job.split.give("sharding", example.facts.at("sharding"));
    if (example.facts.contains("tp")) options.question.job.split.give("tensor", 2);
    options.question.ignores_memory = true;
    const sim::Measurements measured = sim::read_measurements(options, catalogue(), [&](const std::string& name) {
      return is_given(name) || (name == "--global-batch" && options.question.job.global_batch > 0);
    });
    REQUIRE(measured.steps.size() == 1);
    const sim::CheckResult result = sim::check(measured, catalogue(), 1);
    CHECK(result.observations.front().measured_s == Approx(2).epsilon(0.01));
    CHECK(result.share > 0);
  }
  sim::CheckOptions options;
  const auto none = [](const std::string&) { return false; };
  const auto of_device = [&](const std::string& device) {
    options.files = {folder.write("n.log", nccl_log({"all_gather", 16, 2, device, {{1 << 30, 350}}}))};
    return error_of([&] { sim::read_measurements(options, catalogue(), none); });
  };
  options.operation = "all-gather";  // all-to-all moves as much
  CHECK_THAT(of_device("Word"), Contains("does not name the GPU in words that the catalogue has; allowed: with --gpu"));
  options.question.job.gpu.stated = "A100";
  CHECK_THAT(of_device("NVIDIA H100 80GB HBM3"),
             Contains("and --gpu is A100 (A100 SXM4 80GB); allowed: leave --gpu out"));
  options.question.job.gpu.stated.clear();
  const sim::Measurements gathered = sim::read_measurements(options, catalogue(), none);
  CHECK(gathered.collectives.front().question.gpu == "h100-sxm");
  REQUIRE(gathered.collectives.size() == 1);
  CHECK(gathered.collectives.front().operation == "all-gather");
  CHECK(sim::check(gathered, catalogue(), 1).share > 0.3);
}

TEST_CASE("calibrate check exits with 0 for normal, 1 for slow, 2 for a job that is not complete") {
  const TemporaryFolder folder;
  folder.write("ok.log",
               nccl_log({"all_reduce", 8, 1, "NVIDIA H100 80GB HBM3", {{double(std::int64_t{1} << 33), 470}}}));
  folder.write("slow.log",
               nccl_log({"all_reduce", 8, 1, "NVIDIA H100 80GB HBM3", {{double(std::int64_t{1} << 33), 47}}}));
  const auto run = [&](const std::string& words) { return run_program(folder.path(""), "calibrate", words); };
  CHECK(run("check ok.log --gpu H100").code == 0);
  const Outcome slow = run("check slow.log --gpu H100 --json check.json");
  CHECK(slow.code == 1);
  CHECK_THAT(slow.out, Contains("Verdict: slow: 1"));
  CHECK_THAT(slow.out, Contains("Causes, the most probable first:"));
  const Json json = Json::parse(slurp(folder.path("check.json")));
  CHECK(json["schema"] == "lockstep/check/1");
  CHECK(json["verdict"] == "slow");
  CHECK(json["accepted"] == false);
  CHECK(json["provenance"]["inputs"].size() == 1);
  double sum = 0;
  for (const Json& cause : json["causes"]) sum += cause["probability"].get<double>();
  CHECK(sum == Approx(1));
  CHECK(run("check slow.log --gpu H100 --at-least 0.05").code == 0);
  CHECK(run("check ok.log --gpu H100 --at-least 1.5").code == 1);
  const Outcome bare = run("check");
  CHECK(bare.code == 2);
  CHECK_THAT(bare.err, Contains("nothing measured; allowed: FILE..., or --step-time SECONDS"));
  CHECK(run("check ok.log --gpu H1000").code == 2);
  CHECK_THAT(run("check --step-time 3 --gpu H100 --model llama3-8b").err,
             Contains("also give --gpus --batch or --global-batch"));
}

}  // namespace lockstep::tests
