// The scenario's convergence by a profile: what it takes from it, what it refuses, and that other keys stay as they
// were.
#include "sim/convergence/profile.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

/// Has S-SGD with 100 (1 + 512 / batch), and SMA at batch 16, for the small scenario's model.
const char* const kProfile = R"({"schema": "lockstep/convergence/1", "name": "LeNet", "model": "lenet_crossbow",
  "data": "MNIST", "train_samples": 60000, "kind": "measured", "source": "twelve runs", "runs": [],
  "targets": [{"name": "99 % test accuracy", "accuracy": 0.99}],
  "fits": [
    {"algorithm": "s-sgd", "variable": "batch", "target": "99 % test accuracy", "law": "saturating",
     "parameters": {"iterations_least": 100, "critical": 512}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
     "degrees_of_freedom": 10, "range": [16, 64], "reached": 12, "censored": 1, "diverged": 0},
    {"algorithm": "sma", "variable": "learners", "target": "99 % test accuracy", "batch": 16, "law": "saturating",
     "parameters": {"iterations_least": 100, "critical": 8}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
     "degrees_of_freedom": 10, "range": [1, 16], "reached": 12, "censored": 0, "diverged": 0}]})";

class ProfileFiles : public SmallFiles {
 public:
  explicit ProfileFiles(const Json& target = 0.99) {
    scenario["convergence"] = {{"profile", "profile.json"}, {"target", target}};
    folder.write("profile.json", kProfile);
  }
};

}  // namespace

TEST_CASE("a scenario takes its iterations from a profile, by accuracy or by name") {
  for (const Json& target : {Json(0.99), Json("99 % test accuracy")}) {
    const ProfileFiles files(target);
    const sim::LoadedScenario loaded = files.load();
    const sim::ConvergenceSpec& c = *loaded.variants[0].convergence;
    REQUIRE(c.profile);
    CHECK(c.target == "99 % test accuracy");
    CHECK(c.train_samples == 60000);
    // The ledger says what was fitted on what, and the result names the file with its digest.
    int fitted = 0;
    for (const Assumption& a : loaded.assumptions)
      if (a.pointer == "/convergence/profile/s-sgd/batch") {
        ++fitted;
        CHECK(a.kind == "fitted");
        CHECK(a.source.find("12 runs that reached it, 1 that did not") != std::string::npos);
      }
    CHECK(fitted == 1);
    CHECK(loaded.inputs.size() == 3);
  }
}

TEST_CASE("what decides the iterations of each algorithm") {
  ProfileFiles files;
  const sim::TrainingSetting plain = training_setting(files.one(), 4);
  CHECK(plain.algorithm == Algorithm::s_sgd);
  CHECK(plain.images() == 64);
  const sim::TrainingSetting sma = training_setting(
      files.one({{"/algorithm", "sma"}, {"/learners", R"({"per_gpu": 3, "tau": 1, "fill": 0.5})"}}), 4);
  CHECK(sma.algorithm == Algorithm::sma);
  CHECK(sma.workers == 12);
  CHECK(sma.batch == 16);
  files.scenario.erase("convergence");
  const sim::TrainingSetting backup = training_setting(
      files.one({{"/algorithm", "backup-workers"}, {"/workers", R"({"backups": 1, "placement": "co-located"})"}}), 4);
  CHECK(backup.workers == 3);
  const sim::TrainingSetting async =
      training_setting(files.one({{"/algorithm", "async-sgd"}, {"/workers", R"({"placement": "co-located"})"}}), 4);
  CHECK(async.workers == 1);
  CHECK(async.staleness == 3);  // as many as there are other workers
}

TEST_CASE("local SGD with one group of GPUs converges as S-SGD") {
  ProfileFiles files;
  files.scenario.erase("convergence");
  const auto setting = [&](int group) {
    const std::string local = R"({"period": 8, "group_gpus": )" + std::to_string(group) + "}";
    return training_setting(files.one({{"/algorithm", "local-sgd"}, {"/local_sgd", local}}), 4);
  };
  for (int group : {1, 2}) {
    CHECK(setting(group).algorithm == Algorithm::local_sgd);
    CHECK(setting(group).tau == 8);
  }
  for (int group : {4, 8}) {
    CHECK(setting(group).algorithm == Algorithm::s_sgd);
    CHECK(setting(group).tau == 1);
  }
}

TEST_CASE("a profile that does not fit the scenario is refused") {
  const auto error = [](const SmallFiles& of, const Settings& settings) {
    return error_of([&] { of.load(settings); });
  };
  const ProfileFiles files;
  struct Bad {
    Settings settings;
    const char* error;
  };
  const Bad bad[] = {
      {{{"/convergence/target", "0.5"}},
       "/convergence/target: is no target of LeNet; allowed: \"99 % test accuracy\" or 0.99"},
      {{{"/convergence/epochs", "3"}}, "/convergence/epochs: stands beside a profile; allowed: one of the two"},
      {{{"/model", "alexnet"}}, "its runs trained \"lenet_crossbow\", not "},
      {{{"/batch_per_gpu", "128"}}, "at 4 GPUs 512 images an update are more than 4 times beyond the runs"},
      {{{"/algorithm", "ea-sgd"}, {"/learners", R"({"fill": 0.5})"}},
       "has no law of \"ea-sgd\" to 99 % test accuracy; allowed: s-sgd, sma"},
      {{{"/algorithm", "sma"}, {"/batch_per_gpu", "32"}, {"/learners", R"({"fill": 0.5})"}},
       "its runs of \"sma\" had a batch of 16 per learner"},
      {{{"/algorithm", "sma"}, {"/learners", R"({"per_gpu": 1, "tau": 3, "fill": 0.5})"}},
       "has no law of \"sma\" for a tau of 3"},
      {{{"/convergence/profile/fits/0/spread", "-1"}}, "/convergence/profile/fits/0/spread: "},
      {{{"/convergence/profile", "nothing.json"}}, "/convergence/profile: cannot read \"nothing.json\""},
      {{{"/convergence/profile", "3"}}, "/convergence/profile: "},
  };
  for (const Bad& b : bad) {
    INFO(b.error);
    const std::string said = error(files, b.settings);
    INFO(said);
    CHECK(said.find(b.error) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
  CHECK(error(files, {{"/batch_per_gpu", "64"}}).empty());  // beyond the runs, but not far: a note at the prediction
}

TEST_CASE("of several variants, one without a law of convergence has no time to accuracy, and a note says why") {
  ProfileFiles files;
  files.scenario["variants"] = {
      {{"name", "plain"}, {"set", Json::object()}},
      {{"name", "elastic"}, {"set", {{"/algorithm", "ea-sgd"}, {"/learners", {{"fill", 0.5}}}}}}};
  const sim::LoadedScenario loaded = files.load();
  REQUIRE(loaded.variants.size() == 2);
  CHECK(loaded.variants[0].convergence);
  CHECK_FALSE(loaded.variants[1].convergence);
  REQUIRE(loaded.notes.size() == 1);
  CHECK(loaded.notes[0].find("elastic: no time to accuracy. Its convergence profile, at 2 GPUs ") == 0);
  CHECK(loaded.notes[0].find("has no law of \"ea-sgd\"") != std::string::npos);
}

}  // namespace lockstep::tests
