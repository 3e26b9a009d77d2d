// A reader names the format of a file that it cannot read.
#include "engine/base/file_format.hpp"

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("a format is told by its schema, a scenario and a configuration by their keys, too") {
  CHECK(describe_other_format({{"schema", "lockstep/plan/1"}}, "p.json", {"name"}) ==
        "this is a plan; allowed: plan p.json");
  CHECK(describe_other_format({{"model", "x"}, {"cluster", "y"}}, "s.json", {"name"}) ==
        "this is a scenario; allowed: simulate s.json");
  CHECK_THAT(describe_other_format({{"model_type", "llama"}, {"vocab_size", 32000}}, "config.json", {"layers"}),
             Contains("a HuggingFace configuration; allowed: simulate job --model config.json"));
  CHECK(describe_other_format({{"schema", "lockstep/network/9"}, {"model", 1}, {"cluster", 2}}, "x", {}).empty());
  CHECK(describe_other_format({{"unknown", 1}}, "x", {}).empty());
  CHECK(describe_other_format(Json::array({"schema"}), "x", {}).empty());
}

TEST_CASE("a reader of the format keeps its own message") {
  const Json plan{{"schema", "lockstep/plan/1"}, {"scenari", "a typing error"}};
  CHECK(describe_other_format(plan, "p.json", {"schema", "scenario", "axes", "points"}).empty());
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", plan.dump());
  const JsonDocument document = JsonDocument::load(path);
  CHECK_THROWS_WITH(document.root().keys({"schema", "scenario", "axes", "points"}), Contains("unknown key"));
  CHECK_THROWS_WITH(document.root().keys({"schema", "layers"}), path + ": this is a plan; allowed: plan " + path);
  CHECK_THROWS_WITH(document.root().items(), Contains("this is a plan"));
  CHECK_THROWS_WITH(document.root().at("schema").choice({"lockstep/model/1"}), Contains("this is a plan"));
  CHECK_THROWS_WITH(refuse_known_format(path), Contains("this is a plan"));
}

TEST_CASE("a script given as JSON is named as such, files that are neither are left to their reader") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(JsonDocument::load(folder.write("run.sh", "#!/bin/bash\necho")), Contains("this is a script"));
  CHECK_NOTHROW(refuse_known_format(folder.write("log.txt", "iteration 1")));
  CHECK_NOTHROW(refuse_known_format(folder.path("missing")));
}
