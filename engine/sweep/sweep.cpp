#include "engine/sweep/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/base/study.hpp"
#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/train/command_line.hpp"
#include "engine/train/images.hpp"

namespace lockstep::sweep {
namespace {

constexpr std::size_t kMostRuns = 100000;
const std::set<std::string> kNotOptions = {
    "seed",  "threads", "target", "stop",    "data_dir",           "output",   "checkpoint", "memory_plan",
    "quiet", "resume",  "help",   "version", "checkpoint_minutes", "overwrite"};

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return short_number(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(value_text(part));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::vector<std::string> arguments_of(const Json& options) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : options.items()) {
    if (value.is_boolean() && !value.get<bool>()) continue;
    arguments.push_back(flag_of(name));
    if (!value.is_boolean()) arguments.push_back(value_text(value));
  }
  return arguments;
}

void merge(Json& into, const Json& from) {
  for (const auto& [name, value] : from.items()) into[name] = value;
}

void check_value(const JsonNode& node) {
  const Json& value = node.json();
  const auto is_plain = [](const Json& v) { return v.is_number() || v.is_string(); };
  const bool is_list = value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_plain);
  if (!is_plain(value) && !value.is_boolean() && !is_list)
    node.fail("is no value of a flag", "allowed: a number, a text, true, false, or a list of numbers");
}

/// Reads an object of flags; refuses those that the sweep sets itself.
Json read_options(const JsonNode& node) {
  for (const auto& [name, value] : node.members()) {
    if (kNotOptions.count(name) > 0)
      value.fail("is set by the sweep", "allowed: the flags of a run but seed, threads, target, stop and files");
    check_value(value);
  }
  return node.json();
}

std::vector<std::uint64_t> read_seeds(const JsonNode& node) {
  std::vector<std::uint64_t> seeds;
  for (const JsonNode& item : node.items()) {
    seeds.push_back(static_cast<std::uint64_t>(item.integer(0, std::int64_t{1} << 53)));
    if (std::count(seeds.begin(), seeds.end(), seeds.back()) > 1)
      item.fail("is there twice", "allowed: each seed once");
  }
  if (seeds.empty()) node.fail("is empty", "allowed: at least one seed");
  return seeds;
}

std::vector<double> read_rising(const JsonNode& node, Range range) {
  std::vector<double> values;
  for (const JsonNode& item : node.items()) {
    values.push_back(item.number(range));
    if (values.size() > 1 && values[values.size() - 2] >= values.back())
      item.fail("does not rise", "allowed: rising numbers");
  }
  if (values.empty()) node.fail("is empty", "allowed: at least one number");
  return values;
}

struct Search {
  std::vector<double> factors;
  std::uint64_t seed = 0;
  std::int64_t least_iterations = 1;
  Json options = Json::object();
};

Search read_search(const JsonNode& node) {
  node.keys({"factors", "seed", "least_iterations", "options"});
  Search search;
  search.factors = read_rising(node.at("factors"), {1e-6, 1e6});
  search.seed = static_cast<std::uint64_t>(node.at("seed").integer(0, std::int64_t{1} << 53));
  if (const auto least = node.find("least_iterations")) search.least_iterations = least->integer(1, 1'000'000);
  search.options = read_options(node.at("options"));
  for (const char* needed : {"train_images", "epochs"})
    if (!search.options.contains(needed))
      node.at("options").fail(std::string("has no ") + needed,
                              "allowed: train_images and epochs: the budget of every cell");
  return search;
}

/// Makes a run whose flags are checked as `train` checks them. `at` is its place in the file, for messages.
Run make_run(const Sweep& sweep, const std::string& name, const Json& options, std::uint64_t seed,
             const std::optional<double>& target, const std::string& at) {
  Run run;
  run.name = name;
  run.arguments = arguments_of(options);
  const auto add = [&](const char* flag, const std::string& value) {
    run.arguments.insert(run.arguments.end(), {flag, value});
  };
  add("--seed", std::to_string(seed));
  add("--threads", std::to_string(sweep.means.threads));
  if (target) add("--target", short_number(*target));
  if (!sweep.means.data_dir.empty()) add("--data-dir", sweep.means.data_dir);
  try {
    run.settings = train::resolve(train::request_of(run.arguments));
    std::map<std::string, std::string> inputs;
    model::trainable_graph_of(run.settings.request.model, inputs);
  } catch (const InputError& error) {
    throw InputError(sweep.path + ": " + at + ": run " + name + ": " + error.what());
  }
  return run;
}

Json with_rate(Json options, const std::optional<double>& rate) {
  options.erase("learning_rate");
  if (rate) options["learning_rate"] = *rate;
  return options;
}

void add_search(const Sweep& sweep, const Search& search, Cell& cell) {
  if (!cell.options.contains("learning_rate") || !cell.options.at("learning_rate").is_number())
    throw InputError(sweep.path + ": " + cell.pointer + ": cell " + cell.name +
                     " has no learning_rate for the search; allowed: the centre of the search, a number");
  const double centre = cell.options.at("learning_rate").get<double>();
  for (const double factor : search.factors) {
    const double rate = std::stod(short_number(centre * factor));
    Json options = with_rate(cell.options, rate);
    merge(options, search.options);
    options.erase("evaluations_per_epoch");
    const std::string name = "search/" + cell.name + "/rate-" + short_number(rate);
    const Run budget = make_run(sweep, name, options, search.seed, std::nullopt, cell.pointer);
    const train::Request& r = budget.settings.request;
    const double per_epoch = static_cast<double>(*r.train_images) / static_cast<double>(budget.settings.global_batch());
    options["epochs"] = std::max<std::int64_t>(
        r.epochs, static_cast<std::int64_t>(std::ceil(static_cast<double>(search.least_iterations) / per_epoch)));
    cell.search.push_back(make_run(sweep, name, options, search.seed, std::nullopt, cell.pointer));
    cell.rates.push_back(rate);
  }
}

/// All combinations of the values of `over`; the last key varies fastest.
std::vector<Json> combinations(const JsonNode& over) {
  std::vector<Json> result{Json::object()};
  for (const auto& [name, values] : over.members()) {
    if (kNotOptions.count(name) > 0) values.fail("is set by the sweep", "allowed: the flags of a run");
    if (values.items().empty()) values.fail("is empty", "allowed: at least one value");
    std::vector<Json> next;
    for (const Json& before : result) {
      for (const JsonNode& value : values.items()) {
        check_value(value);
        next.push_back(before);
        next.back()[name] = value.json();
        if (next.size() > kMostRuns)
          values.fail("makes too many cells", "allowed: " + std::to_string(kMostRuns) + " at most");
      }
    }
    result = std::move(next);
  }
  return result;
}

std::string safe_name(const JsonNode& node) {
  const std::string name = node.text();
  const auto is_safe = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (!std::all_of(name.begin(), name.end(), is_safe) || name[0] == '.' || name.size() > 100 || name == "search")
    node.fail(in_quotes(name) + " is no name of files", "allowed: letters, digits, - _ and ., and not \"search\"");
  return name;
}

std::string cell_name(std::string name, const Json& values) {
  for (const auto& entry : values.items()) name += "-" + value_text(entry.value());
  for (char& c : name)
    if (c == '/' || c == ',' || c == ' ') c = '_';
  return name;
}

void read_group(const JsonNode& node, const Json& shared, const std::vector<std::uint64_t>& seeds,
                const std::optional<Search>& search, Sweep& sweep) {
  node.keys({"name", "description", "options", "over", "seeds"});
  const std::string name = safe_name(node.at("name"));
  Json options = shared;
  if (const auto own = node.find("options")) merge(options, read_options(*own));
  const auto over = node.find("over");
  for (const Json& values : over ? combinations(*over) : std::vector<Json>{Json::object()}) {
    Cell cell;
    cell.name = cell_name(name, values);
    cell.pointer = node.pointer();
    cell.options = options;
    merge(cell.options, values);
    const auto own_seeds = node.find("seeds");
    cell.seeds = own_seeds ? read_seeds(*own_seeds) : seeds;
    for (const Cell& other : sweep.cells)
      if (other.name == cell.name)
        node.fail("cell " + in_quotes(cell.name) + " is there twice", "allowed: another name");
    if (search) {
      if (std::count(cell.seeds.begin(), cell.seeds.end(), search->seed) > 0)
        node.fail("cell " + cell.name + " has the search's seed", "allowed: seeds that the search has not seen");
      add_search(sweep, *search, cell);
    } else if (cell.options.contains("learning_rate") && cell.options.at("learning_rate").is_number()) {
      cell.chosen_rate = cell.options.at("learning_rate").get<double>();
    }
    runs_of(sweep, cell, search ? std::optional<double>(cell.rates.front()) : cell.chosen_rate);
    sweep.cells.push_back(cell);
  }
}

}  // namespace

std::vector<Run> runs_of(const Sweep& sweep, const Cell& cell, const std::optional<double>& learning_rate) {
  std::vector<Run> runs;
  const Json options = with_rate(cell.options, learning_rate);
  const std::optional<double> last_target =
      sweep.targets.empty() ? std::nullopt : std::optional<double>(sweep.targets.back());
  for (const std::uint64_t seed : cell.seeds)
    runs.push_back(
        make_run(sweep, cell.name + "/seed-" + std::to_string(seed), options, seed, last_target, cell.pointer));
  return runs;
}

namespace {

// Reads the sweep from its file, or from the result that its folder or study contains.
JsonDocument declared_sweep(const std::string& path) {
  if (!is_sweep_output(path)) return JsonDocument::load(path);
  if (std::filesystem::is_directory(path)) {
    const std::string result = (std::filesystem::path(path) / "sweep.json").string();
    if (!std::filesystem::exists(result))
      throw InputError(path +
                       ": no sweep.json in this folder; allowed: a sweep file, or a folder that train sweep wrote");
    return JsonDocument::parse(JsonDocument::load(result).root().at("sweep").json().dump(), result);
  }
  for (const StudyLine& line : load_study(path))
    if (line.document.root().at("schema").text() == kSweepResultSchema)
      return JsonDocument::parse(line.document.root().at("sweep").json().dump(), path);
  throw InputError(path + ": no result of a sweep in it; allowed: what train sweep --collect wrote");
}

}  // namespace

bool is_sweep_output(const std::string& path) {
  return std::filesystem::is_directory(path) || std::filesystem::path(path).extension() == ".jsonl";
}

Sweep load_sweep(const std::string& path, const Means& means) {
  const JsonDocument document = declared_sweep(path);
  const JsonNode root = document.root();
  root.keys({"schema", "name", "description", "targets", "seeds", "options", "search", "groups"});
  root.at("schema").choice({"lockstep/sweep/1"});
  Sweep sweep;
  sweep.path = path;
  sweep.document = document.json();
  sweep.inputs = document.inputs();
  sweep.name = root.at("name").text();
  sweep.means = means;
  if (const auto targets = root.find("targets")) sweep.targets = read_rising(*targets, {1e-6, 1});
  const std::vector<std::uint64_t> seeds = read_seeds(root.at("seeds"));
  const auto shared = root.find("options");
  const Json options = shared ? read_options(*shared) : Json::object();
  std::optional<Search> search;
  if (const auto node = root.find("search")) search = read_search(*node);
  const std::vector<JsonNode> groups = root.at("groups").items();
  if (groups.empty()) root.at("groups").fail("is empty", "allowed: at least one group");
  for (const JsonNode& group : groups) read_group(group, options, seeds, search, sweep);
  return sweep;
}

}  // namespace lockstep::sweep
