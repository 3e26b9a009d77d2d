// Reads the PyTorch probe's file as a profile.
#include "calib/import/imported.hpp"
#include "calib/noise_scale.hpp"
#include "engine/model/graph.hpp"
#include "tests/base/input_error.hpp"
#include "tests/calib/data.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

const std::string kProbeHead =
    R"({"schema":"lockstep/torch-probe/1","run":{"torch":"2.1","device":"GPU X","kind":"cuda","processes":2,"tolerance":0.01,"optimizer":"adam"}}
{"graph":{"schema":"lockstep/model/1","name":"net","input":[8,1,1],"layers":[{"name":"a","kind":"fc","out":4},{"name":"n","kind":"opaque","out":[4,1,1],"parameters":[4,4]}]},"precision":"bf16","parameters":44}
)";
const std::string kSeries =
    R"({"series":0,"probe":"iteration","key":{"model":"net","precision":"bf16","learners":1,"devices":1,"batch":8}}
)";

std::string times(int series, std::initializer_list<double> seconds) {
  std::string text;
  for (const double s : seconds) text += Json{{"at", series}, {"seconds", s}}.dump() + "\n";
  return text;
}

Imported imported(const std::string& text) {
  return import_torch_probe(text, "p.jsonl");
}

std::string probe_error(const std::string& text) {
  return error_of([&] { imported(text); });
}

const Sample& sample(const Imported& all, const std::string& probe, const std::string& member = "",
                     const Json& value = nullptr) {
  for (const Sample& one : all.samples)
    if (one.probe == probe && (member.empty() || one.key.value(member, Json()) == value)) return one;
  throw std::runtime_error("no such sample");
}

}  // namespace

TEST_CASE("A probe's series are measured samples, its network is the format's") {
  const Imported all = imported(kProbeHead + kSeries + times(0, {0.5, 0.3, 0.4}) + "{\"done\":0}\n");
  REQUIRE(all.samples.size() == 1);
  CHECK(all.samples[0].median_s() == 0.4);
  CHECK(all.samples[0].kind == "measured");
  CHECK(all.samples[0].source == "p.jsonl line 3");
  CHECK(all.samples[0].has_flag("imprecise"));  // 0.3 to 0.5
  CHECK(all.device.name == "GPU X");
  CHECK(all.device.kind == "cuda");
  CHECK(all.device.count == 2);
  CHECK(all.device.facts["torch"]["optimizer"] == "adam");
  REQUIRE(all.models.size() == 1);
  const JsonDocument document = JsonDocument::parse(all.models[0].dump(), "model");
  CHECK(model::graph_from_json(document.root()).parameter_count() == 8 * 4 + 4 + 4 + 4);
  CHECK(all.refused.empty());
}

TEST_CASE("Passes become layers; one that took no time has no sample") {
  const Imported all =
      imported(kProbeHead + R"({"series":3,"probe":"pass","key":{"model":"net","precision":"bf16","batch":8}}
{"pass":3,"forward":[0.01,0.002],"backward":[0.03,0]}
{"pass":3,"forward":[0.01,0.004],"backward":[0.05,0]}
{"pass":3,"forward":[0.01,0.003],"backward":[0.04,0]}
)");
  REQUIRE(all.samples.size() == 4);
  CHECK(sample(all, "pass").median_s() == Approx(0.053));
  CHECK(sample(all, "layer", "layer", "n").median_s() == 0.003);
  CHECK(sample(all, "layer", "pass", "backward").median_s() == 0.04);
  CHECK(sample(all, "layer", "pass", "backward").key["layer"] == "a");
}

TEST_CASE("Of a series that was measured again the sounder counts, and the other is kept aside") {
  const std::string again =
      R"({"series":1,"probe":"iteration","key":{"batch":8,"model":"net","precision":"bf16","learners":1,"devices":1},"again":true}
)";
  const Imported all =
      imported(kProbeHead + kSeries + times(0, {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2}) + again +
               times(1, {1.5, 1.51, 1.49, 1.5, 1.52, 1.48, 1.5, 1.51, 1.49, 1.5, 1.5}) + "{\"done\":1}\n");
  REQUIRE(all.samples.size() == 1);
  CHECK(all.samples[0].has_flag("revisited"));
  CHECK_FALSE(all.samples[0].has_flag("drift"));
  CHECK(all.samples[0].median_s() == 1.5);
  REQUIRE(all.samples[0].set_aside.size() == 1);
  CHECK(all.samples[0].set_aside[0].why == "first");
  CHECK(all.samples[0].set_aside[0].seconds.back() == 2);
}

TEST_CASE("What a killed run began and a later one ended counts once; a torn last line does not matter") {
  const std::string anew =
      R"({"series":5,"probe":"iteration","key":{"model":"net","precision":"bf16","learners":1,"devices":1,"batch":8}}
)";
  const Imported all = imported(kProbeHead + kSeries + times(0, {9, 9}) + anew + times(5, {1, 1, 1}) +
                                "{\"done\":5}\n" + "{\"at\":5,\"sec");
  REQUIRE(all.samples.size() == 1);
  CHECK(all.samples[0].seconds == std::vector<double>{1, 1, 1});
  // Not ended, it is better than nothing.
  CHECK(imported(kProbeHead + kSeries + times(0, {9, 9})).samples[0].seconds.size() == 2);
}

TEST_CASE("What the probe said, and parameters that no layer has, are said again") {
  std::string head = kProbeHead;
  head.replace(head.find("\"parameters\":44"), 15, "\"parameters\":54");
  const Imported all =
      imported(head + "{\"said\":\"all-to-all over 2 processes: gloo does not have it\"}\n" + kSeries + times(0, {1}));
  REQUIRE(all.refused.size() == 2);
  CHECK(all.refused[0] == "p.jsonl: 10 trainable parameters belong to no layer and are left out");
  CHECK(all.refused[1] == "p.jsonl: all-to-all over 2 processes: gloo does not have it");
}

TEST_CASE("Files that are none of the probe are refused with their line") {
  CHECK(probe_error("") == "p.jsonl: is empty; allowed: a file of lockstep_probe.py");
  CHECK(probe_error("{\"a\": 1}\n") ==
        "p.jsonl line 1: /: is no file of lockstep_probe.py; allowed: the file that it wrote");
  CHECK(probe_error("{\"schema\": \"lockstep/profile/1\"}\n").find("p.jsonl line 1: /schema: ") == 0);
  CHECK(probe_error(kProbeHead) == "p.jsonl: has no times yet; allowed: a run that measured something");
  CHECK(probe_error(kProbeHead + "no JSON\n{}\n").find("p.jsonl line 3") == 0);
  CHECK(probe_error(kProbeHead + times(7, {1})) == "p.jsonl line 3: /at: no series of this number was declared before");
  CHECK(probe_error(kProbeHead + R"({"series":0,"probe":"pass","key":{"model":"net","precision":"bf16","batch":8}}
{"pass":0,"forward":[1],"backward":[1,2]}
)") == "p.jsonl line 4: /forward: 1 times; allowed: one for each of 2 layers");
  CHECK(probe_error(kProbeHead + R"({"series":0,"probe":"dance","key":{"batch":8}})" + "\n")
            .find("p.jsonl line 3: /probe") == 0);
}

TEST_CASE("The recorded file of a small residual network, two processes") {
  const Imported all = import_torch_probe(tests::data("torch_probe.jsonl"), "torch_probe.jsonl");
  const JsonDocument document = JsonDocument::parse(all.models.at(0).dump(), "model");
  const model::Graph graph = model::graph_from_json(document.root());
  CHECK(all.device.count == 2);
  // An iteration is longer with the largest batch than with the smallest, and DDP's step is longer than that of a
  // process alone.
  const auto iteration_s = [&](int devices, int batch) {
    for (const Sample& one : all.samples)
      if (one.probe == "iteration" && one.key["devices"] == devices && one.key["batch"] == batch) return one.median_s();
    return 0.0;
  };
  CHECK(iteration_s(1, 8) > iteration_s(1, 2));
  CHECK(iteration_s(1, 2) > 0);
  for (const int batch : {2, 4, 8}) CHECK(sample(all, "step", "batch", batch).median_s() > 0.9 * iteration_s(1, batch));
  // Layers with weights have both passes; together the layers are the pass.
  for (const model::Layer& layer : graph.layers)
    if (!layer.parameters.empty()) CHECK(sample(all, "layer", "layer", layer.name).median_s() > 0);
  CHECK(sample(all, "collective", "operation", "all-reduce").key["library"] == "gloo");
}

TEST_CASE("A probe's gradient noise scale is kept and shown, in tokens with the next command") {
  const std::string noise =
      R"({"noise_scale":{"micro_batch":2,"micro_batches":8,"groups":16,"gradient_square":0.5,"covariance_trace":400,)"
      R"("critical_batch":800,"low":700,"high":950,"tokens_per_sample":1024}})"
      "\n";
  const std::string series = kSeries + times(0, {0.5, 0.5, 0.5}) + "{\"done\":0}\n";
  const Json facts = imported(kProbeHead + noise + series).device.facts;
  CHECK(facts.at("torch").at("noise_scale").at("critical_batch") == 800);
  CHECK(noise_scale_text(facts) ==
        "Gradient noise scale: 820k tokens (80 % interval 720k to 970k) at the weights that were probed, an estimate "
        "of the "
        "critical batch\n"
        "  next: simulate loss --parameters 44 --tokens 880 --batch-tokens 820k --critical-batch 820k\n");
  Json images = facts;
  images["torch"]["noise_scale"].erase("tokens_per_sample");
  CHECK(noise_scale_text(images) ==
        "Gradient noise scale: 800 samples (80 % interval 700 to 950) at the weights that were probed, an estimate of "
        "the "
        "critical batch\n");
  images["torch"]["noise_scale"]["high"] = nullptr;
  CHECK(noise_scale_text(images) ==
        "Gradient noise scale: above 700 samples, no upper bound; a larger --noise-scale K of the probe determines it "
        "better\n");
  CHECK(noise_scale_text(imported(kProbeHead + series).device.facts).empty());
  CHECK(probe_error(kProbeHead + R"({"noise_scale":{"micro_batch":2}})" + "\n" + series) ==
        "p.jsonl line 3: /noise_scale: missing key \"micro_batches\"");
}
