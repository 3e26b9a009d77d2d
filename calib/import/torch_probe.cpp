#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "calib/import/sound.hpp"
#include "calib/noise_scale.hpp"
#include "calib/second_look.hpp"
#include "calib/summary.hpp"
#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/optimizer.hpp"

namespace lockstep::calib {
namespace {

constexpr const char* kSchema = "lockstep/torch-probe/1";

// A series as it was declared, and the times that follow it.
struct Series {
  std::string probe;
  Json key;
  bool is_again = false;  ///< measured once more, for its times drifted
  bool is_done = false;
  std::vector<double> seconds;
  std::vector<std::vector<double>> forward, backward;  ///< of a pass: a list of layers for each
  int line = 0;
};

// Reads a file of lockstep_probe.py, line by line.
class ProbeFile {
 public:
  ProbeFile(const std::string& text, const std::string& name) : name_(name) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const bool is_last_and_torn = lines.eof() && !Json::accept(line);
      if (is_last_and_torn) break;  // a killed run left it
      const JsonDocument document = JsonDocument::parse(line, name + " line " + std::to_string(number));
      take(document.root(), number);
    }
    if (run_.is_null()) throw InputError(name + ": is empty; allowed: a file of lockstep_probe.py");
  }

  Imported imported() const {
    if (graph_.layers.empty()) throw InputError(name_ + ": has no network; allowed: a file of lockstep_probe.py");
    Imported result;
    for (const std::string& id : order_) {
      const Series* first = latest(id, false);
      if (first == nullptr) continue;
      add(result.samples, *first, latest(id, true));
    }
    if (result.samples.empty()) throw InputError(name_ + ": has no times yet; allowed: a run that measured something");
    result.device = device();
    result.models.push_back(model::to_json(graph_));
    result.job_options = job_options();
    result.refused = said_;
    return result;
  }

 private:
  void take(const JsonNode& node, int line) {
    if (line == 1 && node.has("schema")) node.at("schema").choice({kSchema});
    if (line == 1 && !node.has("run")) node.fail("is no file of lockstep_probe.py", "allowed: the file that it wrote");
    if (const auto run = node.find("run")) take_run(*run);
    if (node.has("graph")) take_graph(node);
    if (node.has("series")) declare(node, line);
    if (const auto at = node.find("at")) series_at(*at).seconds.push_back(node.at("seconds").number({0, 1e9}));
    if (const auto pass = node.find("pass")) {
      Series& series = series_at(*pass);
      series.forward.push_back(layer_times(node.at("forward")));
      series.backward.push_back(layer_times(node.at("backward")));
    }
    if (const auto done = node.find("done")) series_at(*done).is_done = true;
    if (const auto peak = node.find("peak_memory_bytes")) peak_memory_bytes_ = peak->number({0, 1e15});
    if (const auto noise = node.find("noise_scale")) noise_scale_ = read_noise_scale(*noise);
    if (const auto said = node.find("said")) said_.push_back(name_ + ": " + said->text());
  }

  void take_run(const JsonNode& run) {
    for (const char* name : {"device", "kind"})
      if (const auto text = run.find(name)) text->text();
    if (const auto processes = run.find("processes")) processes->integer(1, 1 << 20);
    if (const auto tolerance = run.find("tolerance")) tolerance->number({0, 1e9});
    run_ = run.json();
  }

  void take_graph(const JsonNode& node) {
    graph_ = model::graph_from_json(node.at("graph"));
    facts_ = {{"parameters", graph_.parameter_count()}, {"precision", node.at("precision").text()}};
    const std::int64_t counted = node.at("parameters").integer(1, std::int64_t{1} << 50);
    if (counted != graph_.parameter_count())
      said_.push_back(name_ + ": " + std::to_string(counted - graph_.parameter_count()) +
                      " trainable parameters belong to no layer and are left out");
  }

  void declare(const JsonNode& node, int line) {
    const auto id = static_cast<int>(node.at("series").integer(0, 1 << 30));
    check_key(node.at("key"));
    Series series{node.at("probe").choice(probes()), node.at("key").json(), node.has("again"), false, {}, {}, {}, line};
    node.at("key").at(variable_of(series.probe)).number({0, 1e18});
    const std::string what = canonical_id(series.probe, series.key);
    if (known_.insert(what).second) order_.push_back(what);
    ids_[id] = series;
  }

  Series& series_at(const JsonNode& node) {
    const auto found = ids_.find(static_cast<int>(node.integer(0, 1 << 30)));
    if (found == ids_.end()) node.fail("no series of this number was declared before");
    return found->second;
  }

  std::vector<double> layer_times(const JsonNode& node) const {
    std::vector<double> seconds;
    for (const JsonNode& item : node.items()) seconds.push_back(item.number({-1, 1e9}));
    if (seconds.size() + 1 != graph_.layers.size())
      node.fail(std::to_string(seconds.size()) + " times",
                "allowed: one for each of " + std::to_string(graph_.layers.size() - 1) + " layers");
    return seconds;
  }

  // If a killed run left an unfinished series, uses the last finished one, else the last one with times.
  const Series* latest(const std::string& what, bool is_again) const {
    const Series* best = nullptr;
    for (const auto& [id, series] : ids_) {
      const bool has_times = !series.seconds.empty() || !series.forward.empty();
      if (series.is_again != is_again || !has_times || canonical_id(series.probe, series.key) != what) continue;
      if (best == nullptr || series.is_done || !best->is_done) best = &series;
    }
    return best;
  }

  void add(std::vector<Sample>& samples, const Series& first, const Series* again) const {
    if (first.probe == "pass") return add_pass(samples, first);
    Sample sample = sample_of(first.probe, first.key, first.seconds, first.line);
    if (again != nullptr && !again->seconds.empty()) {
      const Sample second = sample_of(again->probe, again->key, again->seconds, again->line);
      sample = joined_looks(sample, second, is_second_better(sample, second));
    }
    if (sample.median_s() > 0) samples.push_back(sample);
  }

  // The pass as a whole, and its layers. One without time ran as part of another.
  void add_pass(std::vector<Sample>& samples, const Series& pass) const {
    std::vector<double> whole(pass.forward.size(), 0.0);
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (std::size_t layer = 0; layer < pass.forward[i].size(); ++layer)
        whole[i] += pass.forward[i][layer] + pass.backward[i][layer];
    samples.push_back(sample_of("pass", pass.key, whole, pass.line));
    for (std::size_t layer = 1; layer < graph_.layers.size(); ++layer)
      for (const char* direction : {"forward", "backward"}) {
        const auto& passes = direction == std::string("forward") ? pass.forward : pass.backward;
        Json key{{"model", pass.key.value("model", "")},
                 {"precision", pass.key.value("precision", "")},
                 {"layer", graph_.layers[layer].name},
                 {"pass", direction},
                 {"batch", pass.key["batch"]}};
        std::vector<double> seconds;
        for (const std::vector<double>& times : passes) seconds.push_back(std::max(0.0, times[layer - 1]));
        Sample sample = sample_of("layer", key, seconds, pass.line);
        sample.flags.clear();  // those of the pass; a part scatters more
        if (sample.median_s() > 0) samples.push_back(sample);
      }
  }

  // Flags as calibrate's own series have them.
  Sample sample_of(const std::string& probe, const Json& key, const std::vector<double>& seconds, int line) const {
    Sample sample{probe, key, seconds, "measured", name_ + " line " + std::to_string(line), {}, {}};
    const Summary summary = summarise(seconds);
    if (summary.drifts()) sample.flags.push_back("drift");
    if (summary.outliers * 20 > summary.count) sample.flags.push_back("outliers");
    if (summary.relative_half_width > run_.value("tolerance", 0.01)) sample.flags.push_back("imprecise");
    return sample;
  }

  // The largest batch that was measured, the precision, and the optimizer if Lockstep knows it.
  std::string job_options() const {
    double batch = 0;
    for (const auto& [id, series] : ids_)
      if (series.key.is_object() && series.key.contains("batch") && series.key.at("batch").is_number())
        batch = std::max(batch, series.key.at("batch").get<double>());
    std::string options = batch > 0 ? " --batch " + short_number(batch) : "";
    if (facts_.contains("precision")) options += " --precision " + facts_.at("precision").get<std::string>();
    const std::string optimizer = run_.value("optimizer", "");
    for (const auto& known : choices_of(model::Optimizer()))
      if (known.name == optimizer) options += " --optimizer " + optimizer;
    return options;
  }

  DeviceFacts device() const {
    DeviceFacts device;
    device.name = run_.value("device", "");
    device.kind = run_.value("kind", "") == "cuda" ? "cuda" : "host";
    device.count = run_.value("processes", 1);
    if (device.name.empty() || device.count < 1)
      throw InputError(name_ + " line 1: /run: does not tell its device; allowed: a file of lockstep_probe.py");
    Json run = run_;
    for (const char* passing : {"device", "kind", "started", "batches", "tolerance"}) run.erase(passing);
    if (peak_memory_bytes_ > 0) run["peak_memory_bytes"] = peak_memory_bytes_;
    run.update(facts_);
    if (!noise_scale_.is_null()) run["noise_scale"] = noise_scale_;
    device.facts["torch"] = run;
    return device;
  }

  std::string name_;
  Json run_, noise_scale_, facts_ = Json::object();
  model::Graph graph_;
  std::map<int, Series> ids_;
  std::set<std::string> known_;
  std::vector<std::string> order_;  ///< of what was measured, in the order of the first declaration
  double peak_memory_bytes_ = 0;
  std::vector<std::string> said_;
};

}  // namespace

Imported import_torch_probe(const std::string& text, const std::string& name) {
  return sound(ProbeFile(text, name).imported(), name);
}

}  // namespace lockstep::calib
