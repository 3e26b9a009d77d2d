// Writes a scenario that predicts with a profile. Measured values come from the profile. Fields that have no effect
// when times are measured get values that say so.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "calib/bucket_copies.hpp"
#include "calib/bus_bandwidth.hpp"
#include "calib/collective_key.hpp"
#include "calib/command/commands.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::calib {
namespace {

namespace fs = std::filesystem;

Json assumed(const Json& value, const std::string& why) {
  return {{"value", value}, {"kind", "assumed"}, {"source", why}};
}

Json measured(const Json& value, const std::string& source) {
  return {{"value", value}, {"kind", "measured"}, {"source", source}};
}

const char* const kSpreads = "spreads the measured time over layers, no more";
const char* const kUnlimited = "no limit: collectives take as long as they were measured to take";

bool has(const Json& key, const char* member, const Json& value) {
  const auto found = key.find(member);
  return found != key.end() && *found == value;
}

// The measurements of a profile from which the scenario is made.
struct Measurements {
  std::string model, precision;
  std::vector<int> batches;
  std::set<int> devices;  ///< numbers of devices that trained or summed together
  int processes = 1;
  const Fit* all_reduce = nullptr;      ///< over the largest number of devices
  const Fit* copy_from_host = nullptr;  ///< pinned memory to a device
  std::string library;
};

std::string text_of(const Json& key, const char* name) {
  const auto member = key.find(name);
  return member != key.end() && member->is_string() ? member->get<std::string>() : "";
}

int count_of(const Json& key, const char* name) {
  const auto member = key.find(name);
  return member != key.end() && member->is_number() ? member->get<int>() : 1;
}

// Only GPUs: the host's devices share its memory, so its copies do not measure a link to a device.
void take_copy(const Fit& fit, Measurements& m) {
  if (!has(fit.key, "both_ways", false)) return;
  const std::string from = text_of(fit.key, "from"), to = text_of(fit.key, "to");
  if (from == "host" && to != "host" && has(fit.key, "memory", "pinned")) m.copy_from_host = &fit;
}

// The slope of a line's last piece. If noise hides the slope, attributes the whole longest time to bytes.
double slope_of(const LineFit& line) {
  const double slope = line.pieces.back().line.seconds_per_unit;
  return slope > 0 ? slope : line.at(line.to_x) / line.to_x;
}

Measurements measurements_of(const Profile& profile, const std::string& path, const std::string& model) {
  Measurements m;
  std::set<std::string> models;
  for (const Sample& sample : profile.samples) {
    if (sample.probe != "iteration" || !has(sample.key, "learners", 1) || sample.key.contains("input")) continue;
    models.insert(text_of(sample.key, "model"));
    if (!model.empty() && text_of(sample.key, "model") != model) continue;
    if (m.model.empty()) {
      m.model = text_of(sample.key, "model");
      m.precision = text_of(sample.key, "precision");
    }
    if (!has(sample.key, "model", m.model) || !has(sample.key, "precision", m.precision)) continue;
    m.batches.push_back(count_of(sample.key, "batch"));
    m.devices.insert(count_of(sample.key, "devices"));
  }
  if (m.model.empty())
    throw InputError(path + ": has no iterations of " + (model.empty() ? "a model" : in_quotes(model)) + "; allowed: " +
                     (models.empty() ? "a profile with iterations"
                                     : joined(std::vector<std::string>(models.begin(), models.end()))));
  for (const Fit& fit : profile.fits) {
    if (fit.probe == "copy") take_copy(fit, m);
    if (fit.probe != "collective" || !has(fit.key, "operation", "all-reduce") || fit.key.contains("in_place")) continue;
    if (!is_of_floats(fit.key)) continue;
    const int ranks = count_of(fit.key, "ranks");
    m.devices.insert(ranks);
    if (m.all_reduce != nullptr && count_of(m.all_reduce->key, "ranks") >= ranks) continue;
    m.all_reduce = &fit;
    m.library = text_of(fit.key, "library");
  }
  return m;
}

std::string rate_text(double bytes_per_s) {
  return short_number(bytes_per_s * 1e-9) + " GB/s";
}

// The link of a ring with time 2 (n - 1) (alpha + S beta / n), from the measured line: beta from its last piece, alpha
// from its first. Used if a scenario has a ring over a number of devices that was not measured.
Json ring_link(const Measurements& m) {
  if (m.all_reduce == nullptr)
    return {{"bandwidth", assumed("1 TB/s", "not measured: one device")}, {"latency", assumed("0 us", "not measured")}};
  const int n = count_of(m.all_reduce->key, "ranks");
  const std::vector<Piece>& pieces = m.all_reduce->line.pieces;
  const double slope = slope_of(m.all_reduce->line);
  const double latency_s = pieces.front().line.latency_s / (2 * (n - 1));
  const std::string source = "a ring of " + std::to_string(n) + " with the all-reduces measured by " + m.library;
  return {
      {"bandwidth", {{"value", rate_text(all_reduce_bus_factor(n) / slope)}, {"kind", "fitted"}, {"source", source}}},
      {"latency", {{"value", short_number(latency_s / 2 * 1e6) + " us"}, {"kind", "fitted"}, {"source", source}}}};
}

Json link(const std::string& bandwidth, const std::string& latency, const char* why) {
  return {{"bandwidth", assumed(bandwidth, why)}, {"latency", assumed(latency, why)}};
}

Json input_link(const Measurements& m) {
  if (m.copy_from_host == nullptr)
    return link("1 TB/s", "0 us", "the input is in place: its copy was not measured apart");
  const LineFit& line = m.copy_from_host->line;
  const char* const kSource = "copies from pinned memory of the host";
  return {
      {"bandwidth", measured(rate_text(1 / slope_of(line)), kSource)},
      {"latency", measured(short_number(std::max(0.0, line.pieces.front().line.latency_s) * 1e6) + " us", kSource)}};
}

Json gpu_of(const Profile& profile, const Measurements& m) {
  const bool is_host = profile.device.kind == "host";
  const Json torch = profile.device.facts.value("torch", Json::object());
  const double memory_bytes = torch.value("memory_bytes", profile.device.facts.value("memory_bytes", 0.0));
  Json gpu{{"name", profile.device.name}};
  gpu["memory"] = memory_bytes > 0 ? measured(short_number(memory_bytes * 1e-9) + " GB", "as the device says")
                                   : assumed("1 TB", "not measured: nothing bounds the batch");
  const double bandwidth = profile.device.facts.value("memory_bandwidth", 0.0);
  gpu["memory_bandwidth"] = bandwidth > 0 ? measured(rate_text(bandwidth), "as the device says")
                                          : assumed(is_host ? "10 GB/s" : "1 TB/s", kSpreads);
  gpu["peak"]["fp32"] = assumed(is_host ? "50 GFLOP/s" : "50 TFLOP/s", kSpreads);
  if (m.precision != "fp32") gpu["peak"][m.precision] = assumed(is_host ? "100 GFLOP/s" : "200 TFLOP/s", kSpreads);
  return gpu;
}

Json cluster_of(const Profile& profile, const Measurements& m) {
  const int most = m.devices.empty() ? 1 : *m.devices.rbegin();
  return {{"schema", "lockstep/cluster/1"},
          {"name", "the machine that was measured"},
          {"nodes", assumed(1, "one machine; more need \"nic\" and \"fabric\"")},
          {"gpus_per_node", measured(most, "as many as were measured together")},
          {"gpu", gpu_of(profile, m)},
          {"host",
           {{"memory_bandwidth", assumed("100 GB/s", kUnlimited)},
            {"memory_latency", assumed("0 us", kUnlimited)},
            {"cores", assumed(most, "not used")}}},
          {"intra_node", {{"kind", "nvswitch"}, {"gpu_link", ring_link(m)}, {"pcie_link", input_link(m)}}}};
}

// Gradients are floats, and are copied twice: into buckets and back.
Json rate_of(const BucketCopies& copies, const model::Graph& graph) {
  const double bytes = 2.0 * 4 * static_cast<double>(graph.parameter_count());
  return measured(rate_text(bytes / copies.seconds),
                  "steps of DistributedDataParallel with one process, beside steps without it, " +
                      std::to_string(copies.devices) + " devices busy");
}

Json communication_of(const Measurements& m, const BucketCopies& copies, const std::optional<model::Graph>& graph) {
  const char* const kWithin = "part of the measured all-reduce";
  Json communication{{"all_reduce", "profile"}};
  if (m.all_reduce == nullptr) communication = {{"all_reduce", "ring"}};
  communication["fusion"] = "ddp";
  communication["message_overhead"] = assumed("0 us", kWithin);
  communication["launch_overhead"] = assumed("0 us", kWithin);
  if (graph && copies.seconds > 0) communication["bucket_copies"] = rate_of(copies, *graph);
  return communication;
}

// Returns the path of `file` relative to the folder of the scenario `from`.
std::string seen_from(const std::string& from, const std::string& file) {
  const fs::path folder = fs::absolute(from).parent_path();
  return fs::relative(fs::absolute(file), folder).string();
}

std::string model_file_of(const std::string& profile) {
  const std::string file = fs::path(profile).replace_extension(".model.json").string();
  return fs::exists(file) ? file : "";
}

bool is_file(const std::string& model) {
  return fs::path(model).extension() == ".json" || fs::is_regular_file(model);
}

model::Graph graph_of(const std::string& file) {
  const JsonDocument document = JsonDocument::load(file);
  return model::graph_from_json(document.root());
}

}  // namespace

int write_scenario(const ScenarioRequest& request) {
  check_outputs({request.output}, {request.profile});
  const Profile profile = load_profile(request.profile);
  const bool is_named = !request.model.empty() && !is_file(request.model);
  const std::string model_file = is_named ? "" : request.model.empty() ? model_file_of(request.profile) : request.model;
  std::optional<model::Graph> graph;
  if (!model_file.empty()) graph = graph_of(model_file);
  const Measurements m = measurements_of(profile, request.profile, is_named ? request.model : graph ? graph->name : "");
  const std::vector<std::string> zoo = model::zoo_names();
  if (!graph && std::find(zoo.begin(), zoo.end(), m.model) != zoo.end()) graph = model::zoo_graph(m.model);
  const std::string profile_seen = seen_from(request.output, request.profile);
  std::string optimizer = profile.device.facts.value("torch", Json::object()).value("optimizer", "momentum");
  const std::vector<std::string> known{"sgd", "momentum", "lars", "adam", "lamb"};
  if (std::find(known.begin(), known.end(), optimizer) == known.end()) optimizer = "momentum";
  Json scenario{{"schema", "lockstep/scenario/1"},
                {"name", m.model + ", as measured"},
                {"description", "Written by `calibrate scenario`; rests on the profile that it names."},
                {"cluster", cluster_of(profile, m)},
                {"model", model_file.empty() ? m.model : seen_from(request.output, model_file)}};
  scenario["gpus"] = Json::array({1});
  for (const int devices : m.devices)
    if (devices > 1) scenario["gpus"].push_back(devices);
  scenario["baseline"] = {{"gpus", 1}};
  scenario["batch_per_gpu"] = request.batch > 0 ? request.batch : *std::max_element(m.batches.begin(), m.batches.end());
  scenario["compute"] = {{"precision", m.precision}, {"profile", profile_seen}, {"optimizer", optimizer}};
  scenario["communication"] = communication_of(m, bucket_copies(profile, m.model, m.precision), graph);
  write_file_atomically(request.output, scenario.dump(1) + "\n");
  std::printf("%s: simulate it; --set /batch_per_gpu=N for another batch\n", request.output.c_str());
  return 0;
}

}  // namespace lockstep::calib
