#include "calib/profile.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep::calib {
namespace {

const std::vector<std::pair<std::string, std::string>> kVariables{
    {"iteration", "batch"}, {"layer", "batch"},     {"copy", "bytes"}, {"collective", "bytes"},
    {"launch", "kernels"},  {"update", "elements"}, {"pass", "batch"}, {"input", "batch"},
    {"overlap", "bytes"},   {"gradient", "batch"},  {"step", "batch"}};

Json without(Json key, const std::string& member) {
  key.erase(member);
  return key;
}

double variable_value(const Sample& sample, const std::string& variable) {
  const auto value = sample.key.find(variable);
  if (value == sample.key.end() || !value->is_number())
    throw InputError("a sample of \"" + sample.probe + "\" has no number \"" + variable + "\" in its key");
  return value->get<double>();
}

Json line_json(const LineFit& line) {
  Json pieces = Json::array();
  for (const Piece& piece : line.pieces)
    pieces.push_back({{"from", piece.from_x},
                      {"latency_s", piece.line.latency_s},
                      {"seconds_per_unit", piece.line.seconds_per_unit}});
  Json anchors = Json::array();
  for (const Measured& anchor : line.anchors) anchors.push_back(Json::array({anchor.x, anchor.seconds}));
  return {{"pieces", pieces},
          {"anchors", anchors},
          {"from", line.from_x},
          {"to", line.to_x},
          {"points", line.points},
          {"median_residual", line.median_residual},
          {"worst_residual", line.worst_residual},
          {"leave_one_out", line.leave_one_out},
          {"worst_left_out", line.worst_left_out}};
}

// Profiles of version 0.1 lack anchors.
std::vector<Measured> anchors_from_json(const JsonNode& fit) {
  std::vector<Measured> anchors;
  const auto node = fit.find("anchors");
  if (!node) return anchors;
  for (const JsonNode& item : node->items()) {
    const std::vector<JsonNode> pair = item.items();
    if (pair.size() != 2) item.fail("is no pair", "allowed: [x, seconds]");
    const Measured anchor{pair[0].number({0, 1e18}), pair[1].number({1e-15, 1e9})};
    if (!anchors.empty() && anchor.x <= anchors.back().x) item.fail("not in ascending order");
    anchors.push_back(anchor);
  }
  return anchors;
}

LineFit line_from_json(const JsonNode& node) {
  LineFit line;
  for (const JsonNode& item : node.at("pieces").items()) {
    item.keys({"from", "latency_s", "seconds_per_unit"});
    const Piece piece{item.at("from").number({0, 1e18}),
                      {item.at("latency_s").number({0, 1e6}), item.at("seconds_per_unit").number({0, 1e6})}};
    if (!line.pieces.empty() && piece.from_x <= line.pieces.back().from_x)
      item.at("from").fail("not in ascending order");
    line.pieces.push_back(piece);
  }
  if (line.pieces.empty()) node.at("pieces").fail("empty list", "allowed: one or more pieces");
  line.from_x = node.at("from").number({0, 1e18});
  line.to_x = node.at("to").number({line.from_x, 1e18});
  line.points = static_cast<int>(node.at("points").integer(1, 1000000));
  line.median_residual = node.at("median_residual").number({0, 1e6});
  line.worst_residual = node.at("worst_residual").number({0, 1e6});
  line.leave_one_out = node.at("leave_one_out").number({0, 1e6});
  if (const auto worst = node.find("worst_left_out")) line.worst_left_out = worst->number({0, 1e6});
  line.anchors = anchors_from_json(node);
  return line;
}

Json fit_json(const Fit& fit) {
  Json json{{"probe", fit.probe}, {"key", fit.key}, {"variable", fit.variable}, {"kind", fit.kind}};
  json.update(line_json(fit.line));
  return json;
}

Fit fit_from_json(const JsonNode& node) {
  node.keys({"probe", "key", "variable", "kind", "pieces", "anchors", "from", "to", "points", "median_residual",
             "worst_residual", "leave_one_out", "worst_left_out"});
  Fit fit;
  fit.probe = node.at("probe").choice(probes());
  check_key(node.at("key"));
  fit.key = node.at("key").json();
  fit.variable = node.at("variable").choice({variable_of(fit.probe)});
  fit.kind = node.at("kind").choice({"measured", "imported", "modelled"});
  fit.line = line_from_json(node);
  return fit;
}

DeviceFacts device_from_json(const JsonNode& node) {
  node.keys({"name", "kind", "count", "facts"});
  DeviceFacts device;
  device.name = node.at("name").text();
  device.kind = node.at("kind").choice({"cuda", "host", "imported"});
  device.count = static_cast<int>(node.at("count").integer(1, 1 << 20));
  const JsonNode facts = node.at("facts");
  if (!facts.is_object()) facts.fail("is not an object", "allowed: what is known of the device, as {\"name\": value}");
  device.facts = facts.json();
  return device;
}

bool is_imported(const DeviceFacts& device) {
  return device.kind == "imported";
}

// A measured device's name also contains library versions, so it only has to contain the imported name.
bool is_same_device(const DeviceFacts& a, const DeviceFacts& b) {
  if (a.name == b.name) return true;
  if (!is_imported(a) && !is_imported(b)) return false;
  for (const DeviceFacts* one : {&a, &b})
    if (one->kind == "host" || (is_imported(*one) && one->name == kUnknownGpu)) return true;
  return (is_imported(a) && b.name.find(a.name) != std::string::npos) ||
         (is_imported(b) && a.name.find(b.name) != std::string::npos);
}

DeviceFacts merged_device(const DeviceFacts& a, const DeviceFacts& b) {
  if (!is_same_device(a, b))
    throw InputError("profiles of different devices: \"" + a.name + "\" and \"" + b.name + "\"");
  const bool is_a_known = !is_imported(a) || (is_imported(b) && a.name != kUnknownGpu);
  DeviceFacts merged = is_a_known ? a : b;
  if (is_imported(a) == is_imported(b)) merged.count = std::max(a.count, b.count);
  const bool is_a_first_hand = !is_imported(a) && is_imported(b);
  merged.facts = is_a_first_hand ? b.facts : a.facts;
  merged.facts.update(is_a_first_hand ? a.facts : b.facts);
  return merged;
}

}  // namespace

const char* const kUnknownGpu = "unknown GPU";

std::string variable_of(const std::string& probe) {
  for (const auto& [name, variable] : kVariables)
    if (name == probe) return variable;
  throw std::invalid_argument("unknown probe \"" + probe + "\"");
}

const std::vector<std::string>& probes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, variable] : kVariables) all.push_back(name);
    return all;
  }();
  return names;
}

std::string Fit::id() const {
  return canonical_id(probe, key);
}

const Fit* Profile::find(const std::string& probe, const Json& key) const {
  const std::string id = canonical_id(probe, key);
  for (const Fit& fit : fits)
    if (fit.id() == id) return &fit;
  return nullptr;
}

std::vector<Measured> Profile::curve(const std::string& probe, const Json& key) const {
  const std::string variable = variable_of(probe), id = canonical_id(probe, key);
  std::vector<Measured> points;
  for (const Sample& sample : samples)
    if (sample.probe == probe && canonical_id(probe, without(sample.key, variable)) == id)
      points.push_back({variable_value(sample, variable), sample.median_s()});
  std::sort(points.begin(), points.end(), [](const Measured& a, const Measured& b) { return a.x < b.x; });
  return points;
}

std::vector<Fit> fit_curves(const std::vector<Sample>& samples, const LineFitOptions& options) {
  std::vector<Fit> fits;
  std::vector<std::vector<Measured>> curves;
  std::map<std::string, std::size_t> index;
  for (const Sample& sample : samples) {
    const std::string variable = variable_of(sample.probe);
    const Json key = without(sample.key, variable);
    const auto [entry, is_new] = index.try_emplace(canonical_id(sample.probe, key), fits.size());
    if (is_new) {
      Fit fit;
      fit.probe = sample.probe;
      fit.key = key;
      fit.variable = variable;
      fit.kind = sample.kind;
      fits.push_back(fit);
      curves.emplace_back();
    }
    if (fits[entry->second].kind != sample.kind) fits[entry->second].kind = "imported";
    curves[entry->second].push_back({variable_value(sample, variable), sample.median_s()});
  }
  for (std::size_t i = 0; i < fits.size(); ++i) fits[i].line = fit_pieces(curves[i], options);
  return fits;
}

Json to_json(const Profile& profile) {
  Json json{{"schema", "lockstep/profile/1"}, {"name", profile.name}, {"provenance", profile.provenance}};
  json["device"] = {{"name", profile.device.name},
                    {"kind", profile.device.kind},
                    {"count", profile.device.count},
                    {"facts", profile.device.facts}};
  json["fits"] = Json::array();
  for (const Fit& fit : profile.fits) json["fits"].push_back(fit_json(fit));
  json["samples"] = Json::array();
  for (const Sample& sample : profile.samples) json["samples"].push_back(to_json(sample));
  return json;
}

Profile profile_from_json(const JsonNode& node) {
  node.keys({"schema", "name", "provenance", "device", "fits", "samples"});
  node.at("schema").choice({"lockstep/profile/1"});
  Profile profile;
  profile.name = node.at("name").text();
  profile.provenance = node.at("provenance").json();
  profile.device = device_from_json(node.at("device"));
  std::map<std::string, int> points;  // per curve, counted once: a model's layers have hundreds of curves
  for (const JsonNode& item : node.at("samples").items()) {
    const Sample sample = sample_from_json(item);
    const std::string variable = variable_of(sample.probe);
    ++points[canonical_id(sample.probe, without(sample.key, variable))];
    profile.samples.push_back(sample);
  }
  for (const JsonNode& item : node.at("fits").items()) {
    profile.fits.push_back(fit_from_json(item));
    const Fit& fit = profile.fits.back();
    if (points[fit.id()] != fit.line.points)
      item.fail("the profile does not have the " + std::to_string(fit.line.points) + " samples of this fit");
  }
  return profile;
}

Profile load_profile(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  return profile_from_json(document.root());
}

std::vector<std::string> differing_facts(const DeviceFacts& a, const DeviceFacts& b) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : a.facts.items()) {
    const auto other = b.facts.find(name);
    if (other != b.facts.end() && *other != value) lines.push_back(name + " " + value.dump() + " and " + other->dump());
  }
  return lines;
}

Profile merge(const Profile& a, const Profile& b, const std::string& name) {
  Profile merged;
  merged.device = merged_device(a.device, b.device);
  merged.name = name;
  merged.samples = a.samples;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < merged.samples.size(); ++i) index[merged.samples[i].id()] = i;
  for (const Sample& sample : b.samples) {
    const auto [entry, is_new] = index.try_emplace(sample.id(), merged.samples.size());
    if (is_new)
      merged.samples.push_back(sample);
    else
      merged.samples[entry->second] = sample;
  }
  merged.fits = fit_curves(merged.samples);
  merged.provenance = {{"merged", Json::array({a.provenance, b.provenance})}};
  return merged;
}

}  // namespace lockstep::calib
