// Public cases (cases.json) whose cause was found, or that are normal: some give the priors, others are scored.
#include <cstdlib>
#include <iostream>

#include "sim/explain/check_command.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/check/nccl_log.hpp"

namespace lockstep::tests {
namespace {

const Json& cases() {
  static const Json all = JsonDocument::load(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/check/cases.json").json();
  return all;
}

sim::CheckResult checked_step(const Json& one) {
  sim::MeasuredStep step;
  sim::read_job(JsonDocument::parse(one.at("job").dump(), one.at("id")).root(), step.question.job);
  step.question.gpus = {step.question.job.gpus};
  step.seconds = one.at("step_s");
  return sim::check({{}, {step}}, catalogue(), 1);
}

// Messages of NCCL by host, which the published case has.
std::string nccl_lines(const Json& messages) {
  std::string text;
  for (const auto& [host, all] : messages.items())
    for (const Json& message : all) text += host + ":1000:2000 [0] NCCL INFO " + message.get<std::string>() + "\n";
  return text;
}

sim::CheckResult checked(const Json& one, const TemporaryFolder& folder) {
  if (one.contains("job")) return checked_step(one);
  NcclLog log;
  log.ranks = one.at("ranks");
  log.nodes = one.at("nodes");
  log.device = one.at("gpu");
  for (const Json& row : one.at("rows")) log.rows.emplace_back(row.at(0), row.at(1));
  sim::CheckOptions options;
  options.files = {folder.write(one.at("id").get<std::string>() + ".log",
                                nccl_lines(one.value("nccl_lines", Json::object())) + nccl_log(log))};
  options.question.job.gpu.stated = one.at("gpu");
  options.question.job.network.stated = one.value("network", "");
  options.question.job.link.stated = one.value("link", "");
  return sim::check(sim::read_measurements(options, catalogue(), [](const std::string&) { return false; }), catalogue(),
                    1);
}

// The place of the cause among those of the ranking that are none but "as expected", from 0.
int place_of(const std::string& cause, const sim::CheckResult& result) {
  int place = 0;
  for (const sim::RankedCause& ranked : result.causes) {
    if (name_of(ranked.id) == cause) return place;
    if (ranked.id != sim::CauseId::normal) ++place;
  }
  return 99;
}

}  // namespace

TEST_CASE("the priors of causes are the committed cases that are set aside for them, by what was measured") {
  for (const sim::Cause& cause : sim::causes()) {
    int of_collectives = 0, of_trainings = 0;
    for (const Json& one : cases()) {
      if (one.at("use") != "prior" || one.at("cause") != name_of(cause.id) || cause.id == sim::CauseId::normal)
        continue;
      const bool is_training = one.contains("job") || one.value("of", "") == "training";
      CHECK((is_training || one.contains("rows") || one.value("of", "") == "collective"));
      (is_training ? of_trainings : of_collectives) += 1;
    }
    INFO(name_of(cause.id));
    CHECK(cause.cases.of_collectives == of_collectives);
    CHECK(cause.cases.of_trainings == of_trainings);
  }
}

TEST_CASE(
    "the right cause of scored cases is first in 13 of 15 and among three in all, and 22 of 25 normal ones are called "
    "normal") {
  const TemporaryFolder folder;
  int faults = 0, first = 0, among_three = 0, normal = 0, called_normal = 0;
  for (const Json& one : cases()) {
    if (!one.contains("rows") && !one.contains("job")) continue;
    const sim::CheckResult result = checked(one, folder);
    const std::string cause = one.at("cause");
    const int place = place_of(cause, result);
    if (std::getenv("LOCKSTEP_SHOW_CASES") != nullptr) {
      std::cout << one.at("use").get<std::string>() << " " << one.at("id").get<std::string>() << ": " << cause << " at "
                << place << ", " << name_of(result.speed) << " " << result.share << ":";
      for (std::size_t i = 0; i < std::min<std::size_t>(4, result.causes.size()); ++i)
        std::cout << " " << name_of(result.causes[i].id) << " " << result.causes[i].probability;
      std::cout << "\n";
    }
    if (one.at("use") != "score") continue;
    (cause == "normal" ? normal : faults) += 1;
    if (cause == "normal") {
      called_normal += result.speed != sim::Speed::slow ? 1 : 0;
      continue;
    }
    first += place == 0 ? 1 : 0;
    among_three += place < 3 ? 1 : 0;
  }
  // Goals: 75 %, 90 % and 90 %. The last one is missed. calib/README.md has the table.
  CHECK(faults == 15);
  CHECK(first >= 13);
  CHECK(among_three == 15);
  CHECK(normal == 25);
  CHECK(called_normal >= 22);
}

TEST_CASE("published tables of whole nodes are normal at every range of sizes, and as expected before any cause") {
  for (const std::string gpu : {"h100", "h200", "a100"}) {
    INFO(gpu);
    sim::CheckOptions options;
    options.files = {std::string(LOCKSTEP_SOURCE_DIR) + "/tests/calib/data/azure_" + gpu + "_8.txt"};
    options.question.job.gpu.stated = gpu;
    options.ranks = 8;
    options.operation = "all-reduce";
    const sim::CheckResult result = sim::check(
        sim::read_measurements(options, catalogue(), [](const std::string&) { return false; }), catalogue(), 1);
    CHECK(result.speed == sim::Speed::normal);
    CHECK(result.causes.front().id == sim::CauseId::normal);
    CHECK(result.share == Approx(1).epsilon(0.03));
  }
}

}  // namespace lockstep::tests
