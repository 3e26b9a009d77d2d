#include "calib/command/commands.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "calib/facts.hpp"
#include "calib/import/log_text.hpp"
#include "calib/probe/calibrate.hpp"
#include "calib/probe/expectation.hpp"
#include "calib/probe/selection.hpp"
#include "engine/base/command_name.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/printing.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/units.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/train/backends.hpp"

namespace lockstep::calib {
namespace {

namespace fs = std::filesystem;

constexpr int kBarWidth = 30;
constexpr const char* kProfiles = "results/profiles";
// How often the profile is written. A killed run leaves its samples, and a profile of nearly all of them.
constexpr std::chrono::seconds kStoredEvery{30};

// "NVIDIA H200" becomes "nvidia-h200": letters and digits before the first comma.
std::string file_name_of(const std::string& device) {
  std::string name;
  for (char c : device.substr(0, device.find(','))) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "device" : name;
}

std::string output_of(const MeasureRequest& request, const device::Backend& backend) {
  if (!request.output.empty()) return request.output;
  return (fs::path(kProfiles) / (file_name_of(device_name_of(backend)) + ".json")).string();
}

std::string sample_file_of(const std::string& output) {
  return fs::path(output).replace_extension(".samples.jsonl").string();
}

void show_bar(const Progress& p) {
  const int filled = static_cast<int>(p.done * kBarWidth / std::max<std::size_t>(1, p.of));
  std::fprintf(stderr, "\r\033[K[%.*s%*s] %zu/%zu, about %s left: %s", filled, "##############################",
               kBarWidth - filled, "", p.done, p.of, format_seconds(p.expected_s).c_str(), p.now.substr(0, 50).c_str());
  if (p.now.empty()) std::fputs("\r\033[K", stderr);
}

CollectiveLogOptions collective_options(const ImportRequest& r) {
  return {r.nccl.ranks, r.nccl.nodes, r.library};
}

constexpr const char *kTrainingLog = "training-log", *kMlperf = "mlperf";

struct LogFormat {
  std::string name;
  Imported (*read)(const std::string& text, const std::string& path, const ImportRequest& r);
  bool is_binary = false;
};

using Text = const std::string&;
using Asked = const ImportRequest&;

const std::vector<LogFormat>& log_formats() {
  static const std::vector<LogFormat> all{
      {"nccl-tests", [](Text text, Text path, Asked r) { return import_nccl_tests(text, path, r.nccl); }},
      {"osu", [](Text text, Text path, Asked r) { return import_osu(text, path, collective_options(r)); }},
      {"imb", [](Text text, Text path, Asked r) { return import_imb(text, path, collective_options(r)); }},
      {"gloo", [](Text text, Text path, Asked r) { return import_gloo(text, path, collective_options(r)); }},
      {"nvbandwidth", [](Text text, Text path, Asked) { return import_nvbandwidth(text, path); }},
      {"p2p", [](Text text, Text path, Asked) { return import_p2p_bandwidth(text, path); }},
      {"perftest", [](Text text, Text path, Asked) { return import_perftest(text, path); }},
      {"chakra", [](Text text, Text path, Asked r) { return import_chakra(text, path, collective_options(r)); }, true},
      {"torch-trace", [](Text text, Text path, Asked r) { return import_torch_trace(text, path, r.torch); }},
      {"torch-probe", [](Text text, Text path, Asked) { return import_torch_probe(text, path); }},
      {"csv",
       [](Text text, Text path, Asked r) {
         return import_csv(text, path, {r.torch.model, r.torch.precision});
       }},
      {"topology", [](Text text, Text path, Asked) { return import_topology(text, path); }}};
  return all;
}

Imported import_file(const ImportRequest& request, const std::string& path) {
  for (const LogFormat& format : log_formats())
    if (format.name == request.format)
      return format.read(format.is_binary ? log_bytes(path) : log_text(path), path, request);
  throw InputError("import " + request.format + ": no such format; allowed: " + joined(import_formats()));
}

// Adds the samples of a file. Those with the same id become one series. The first file that names a device gives it.
void add(Profile& profile, const Imported& imported, const std::string& path) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < profile.samples.size(); ++i) index[profile.samples[i].id()] = i;
  for (const Sample& sample : imported.samples) {
    const auto [entry, is_new] = index.try_emplace(sample.id(), profile.samples.size());
    if (is_new) {
      profile.samples.push_back(sample);
      continue;
    }
    Sample& known = profile.samples[entry->second];
    known.seconds.insert(known.seconds.end(), sample.seconds.begin(), sample.seconds.end());
    known.source += ", " + sample.source;
    known.set_aside.insert(known.set_aside.end(), sample.set_aside.begin(), sample.set_aside.end());
    for (const std::string& flag : sample.flags)
      if (!known.has_flag(flag)) known.flags.push_back(flag);
  }
  DeviceFacts& device = profile.device;
  const DeviceFacts& other = imported.device;
  const bool is_known = device.count > 0 && device.name != kUnknownGpu;
  if (is_known && other.name != kUnknownGpu && other.name != device.name)
    throw InputError(path + ": on " + other.name + ", and the files before on " + device.name +
                     "; allowed: logs of one kind of GPU");
  if (!is_known) device.name = other.name;
  device.kind = other.kind;
  device.count = std::max(device.count, other.count);
  device.facts.update(other.facts);
}

void store(const std::string& path, const Profile& profile) {
  write_json_atomically(path, to_json(profile), 1);
}

void write_profile(const std::string& path, const Profile& profile) {
  store(path, profile);
  std::printf("%s: %zu samples, %zu fits\n", path.c_str(), profile.samples.size(), profile.fits.size());
  const Doubts doubts = doubts_of(profile);
  if (!doubts.series.empty() || !doubts.fits.empty())
    std::printf("%zu series and %zu fits are to be doubted: calibrate show %s\n", doubts.series.size(),
                doubts.fits.size(), path.c_str());
}

// Writes each network of the logs once, next to the profile, so that a scenario can name it as its model.
void write_models(const std::string& profile, const std::vector<Json>& models, const std::string& job_options) {
  for (const Json& model : models) {
    const std::string path =
        fs::path(profile)
            .replace_extension(models.size() > 1 ? "." + model.value("name", "") + ".model.json" : ".model.json")
            .string();
    write_json_atomically(path, model, 1);
    std::printf("%s: the network; on GPUs that you do not have: %s job --model %s --gpu NAME --gpus N%s\n",
                path.c_str(), command_of_program("simulate").c_str(), path.c_str(), job_options.c_str());
  }
}

void add_models(std::vector<Json>& models, const Imported& imported, const std::string& path) {
  for (const Json& model : imported.models) {
    const auto same = std::find_if(models.begin(), models.end(), [&](const Json& known) {
      return known.value("name", "") == model.value("name", "");
    });
    if (same == models.end())
      models.push_back(model);
    else if (*same != model)
      throw InputError(path + ": another network than the files before is called \"" + model.value("name", "") +
                       "\"; allowed: files of one network, or other names (--name of the probe)");
  }
}

std::string name_of(const std::string& path) {
  return fs::path(path).stem().string();
}

// Creates the device. If that fails for CUDA, the error also lists the machine's GPUs.
std::unique_ptr<device::Backend> backend_of(const MeasureRequest& request, sync::Processes& processes) {
  try {
    return train::make_backend(request.device, request.gpus, request.threads, &processes);
  } catch (const std::runtime_error& error) {
    if (request.device != "cuda") throw;
    throw std::runtime_error(std::string(error.what()) + "; here: " + gpus_text(machine_facts()));
  }
}

// Counts the processes that are the first on their machine.
int nodes_of(sync::Processes& processes) {
  double firsts = processes.local_rank() == 0 ? 1 : 0;
  processes.sum(1, &firsts);
  return static_cast<int>(firsts);
}

// Refuses a log with samples of another machine, or of another number of devices or threads.
void check_source(const std::vector<Sample>& taken, const std::string& samples, const std::string& source) {
  for (const Sample& sample : taken)
    if (sample.source != source)
      throw InputError(samples + ": has samples of \"" + sample.source + "\", and this is \"" + source +
                       "\"; allowed: the options and the machine of that run, or another -o");
}

// The state of the log, which the first process sends to the others.
constexpr double kOpen = 0, kInUse = 1, kRefused = 2;

// Opens the log in the first process; returns null in the others. If the first refuses it, all do.
std::unique_ptr<SampleLog> open_log(const MeasureRequest& request, const std::string& output, const std::string& source,
                                    sync::Processes& processes) {
  std::unique_ptr<SampleLog> log;
  std::string why = "refused by the first process";
  double state = kOpen;
  if (processes.rank() == 0) try {
      const std::string samples = sample_file_of(output);
      std::error_code ignored;
      if (request.output.empty()) fs::create_directories(kProfiles, ignored);
      check_outputs({output});
      refuse_if_locked(samples);
      if (!request.resume && fs::exists(samples))
        throw InputError(samples + ": samples of an earlier run are there; allowed: --resume, or another -o");
      log = std::make_unique<SampleLog>(samples);
      remove_leftover_files(output);  // the holder of the samples' lock also writes the profile
      check_source(log->samples(), samples, source);
      if (log->discarded_bytes() > 0 && !request.quiet)
        std::fprintf(stderr, "calibrate: %s: dropped the sample that was being written when the last run ended\n",
                     samples.c_str());
    } catch (const InputError& error) {
      why = error.what();
      state = kRefused;
    } catch (const FileInUse& error) {
      why = error.what();
      state = kInUse;
    }
  state = sync::largest(processes, state);
  if (state == kRefused) throw InputError(why);
  if (state == kInUse) throw FileInUse(why);
  return log;
}

void show_plan(std::FILE* to, const std::string& source, const std::vector<Probe>& probes,
               const std::vector<Sample>& samples, const SamplingOptions& options) {
  const Expectation expectation = expectation_of(probes, samples, options);
  std::fprintf(to, "To measure on %s:\n%s", source.c_str(), expectation_text(expectation, options).c_str());
}

// Prints the plan; writes no file.
int only_plan(const MeasureRequest& request, const std::string& output, const std::string& source,
              const std::vector<Probe>& probes, const SamplingOptions& sampling) {
  std::vector<Sample> samples;
  if (request.resume) {
    samples = read_samples(sample_file_of(output));
    check_source(samples, sample_file_of(output), source);
  }
  show_plan(stdout, source, probes, samples, sampling);
  return 0;
}

// Returns the facts of the first process's machine.
Json facts_of(device::Backend& backend, int processes, int nodes) {
  Json facts = machine_facts();
  if (processes > 1) {
    facts["processes"] = processes;
    facts["nodes"] = nodes;
  }
  const std::vector<std::string> ids = backend.device_ids();
  if (!ids.empty()) facts["measured"] = ids;
  if (const std::string binding = backend.binding(); !binding.empty()) facts["binding"] = binding;
  const device::MemoryFacts memory = backend.memory();
  if (memory.bytes > 0) facts["memory_bytes"] = memory.bytes;
  if (memory.bandwidth_bytes_per_s > 0) facts["memory_bandwidth"] = memory.bandwidth_bytes_per_s;
  return facts;
}

// If processes have different links, all measure the same pairs, without distinguishing kinds of links.
std::vector<LinkedPair> pairs_of(device::Backend& backend, sync::Processes& processes) {
  const std::vector<std::string> ids = backend.device_ids();
  const std::vector<LinkedPair> pairs =
      ids.size() > 1 ? pair_of_each_link(machine_facts(), ids) : std::vector<LinkedPair>();
  std::string text;
  for (const LinkedPair& pair : pairs)
    text += std::to_string(pair.from) + " " + std::to_string(pair.to) + " " + pair.link + "\n";
  const auto mark = static_cast<double>(std::hash<std::string>()(text));
  const bool is_same = sync::largest(processes, mark) == -sync::largest(processes, -mark);
  return is_same ? pairs : std::vector<LinkedPair>();
}

// CUDA: as large as gradients get. The host's memory is too slow for that.
std::int64_t usual_most_bytes(const device::Backend& backend) {
  return std::int64_t{1} << (backend.name() == "cuda" ? 30 : 26);
}

// Samples are identified by a model's name, so a user's model must not have the name of a built-in one.
std::vector<model::Graph> models_of(const MeasureRequest& request, std::map<std::string, std::string>& inputs) {
  std::vector<model::Graph> models;
  std::set<std::string> names;
  const std::vector<std::string> built_in = model::zoo_names();
  for (const std::string& name : request.models) {
    const std::size_t files = inputs.size();
    models.push_back(model::trainable_graph_of(name, inputs));
    const std::string& own = models.back().name;
    if (inputs.size() > files && std::count(built_in.begin(), built_in.end(), own) > 0)
      throw InputError(name + ": /name: \"" + own + "\" is a built-in model's; allowed: another name");
    if (models.back().layers.back().kind != model::LayerKind::softmax)
      throw InputError(name + ": its last layer is no softmax; allowed: a classifier");
    if (!names.insert(own).second)
      throw InputError("--models: " + name + ": a second model \"" + own + "\"; allowed: each name once");
  }
  return models;
}

}  // namespace

int measure_devices(const MeasureRequest& request, sync::Processes& processes) {
  const bool is_first = processes.rank() == 0;
  std::map<std::string, std::string> inputs;
  ProbeOptions options = request.probes;
  options.models = models_of(request, inputs);
  const std::unique_ptr<device::Backend> backend = backend_of(request, processes);
  options.precisions = request.precisions;
  if (options.precisions.empty()) options.precisions = {device::to_string(device::usual_precision(backend->name()))};
  options.learners = request.learners.empty() ? usual_learners(*backend) : request.learners;
  options.nodes = nodes_of(processes);
  options.pairs = pairs_of(*backend, processes);
  options.most_bytes = request.most_bytes > 0 ? request.most_bytes : usual_most_bytes(*backend);
  const std::vector<Probe> all = plan_probes(*backend, options);
  const std::vector<Probe> probes = request.is_quick ? quick_probes(all) : probes_named(all, request.only);
  const SamplingOptions sampling = request.is_quick ? quick_sampling(probes.size()) : request.sampling;
  const std::string output = output_of(request, *backend);
  const std::string source = source_of(*backend);
  if (request.only_plans) return is_first ? only_plan(request, output, source, probes, sampling) : 0;
  const std::unique_ptr<SampleLog> log = open_log(request, output, source, processes);
  if (is_first && !request.quiet) show_plan(stderr, source, probes, log->samples(), sampling);

  int failures = 0;
  const Json facts = is_first ? facts_of(*backend, processes.count(), options.nodes) : Json::object();
  const Json origin = is_first ? provenance(request.argv, "none", inputs) : Json::object();
  const auto profile = [&] { return profile_of(*log, name_of(output), *backend, facts, origin); };
  auto stored = std::chrono::steady_clock::now();
  measure(
      *backend, probes, sampling, log.get(),
      [&](const Progress& p) {
        if (is_first && request.has_bar) show_bar(p);
        if (!is_first || std::chrono::steady_clock::now() - stored < kStoredEvery) return;
        store(output, profile());
        stored = std::chrono::steady_clock::now();
      },
      [&](const std::string& probe, const std::string& why) {
        ++failures;
        if (is_first) std::fprintf(stderr, "calibrate: %s: %s\n", probe.c_str(), why.c_str());
      });
  if (is_first) write_profile(output, profile());
  return failures > 0 ? 1 : 0;
}

int show_topology(const TopologySources& sources, bool is_json) {
  const Json facts = machine_facts(sources);
  if (is_json)
    std::printf("%s\n", facts.dump(1).c_str());
  else
    std::printf("%s\n%s", gpus_text(facts).c_str(), facts_text(facts).c_str());
  return 0;
}

std::vector<std::string> import_formats() {
  std::vector<std::string> names{kTrainingLog, kMlperf};
  for (const LogFormat& format : log_formats()) names.push_back(format.name);
  return names;
}

int import_measurements(const ImportRequest& request) {
  if (request.format == kTrainingLog) return import_trainings(request);
  return request.format == kMlperf ? import_results(request) : import_logs(request);
}

int import_logs(const ImportRequest& request) {
  check_outputs({request.output}, request.files);
  Profile profile;
  std::map<std::string, std::string> inputs;
  std::vector<Json> models;
  std::string job_options;
  for (const std::string& path : request.files) {
    const Imported imported = import_file(request, path);
    add_models(models, imported, path);
    if (job_options.empty()) job_options = imported.job_options;
    inputs[path] = sha256_file(path);
    const char* what = request.format == "torch-probe" ? "" : "refused: ";
    for (const std::string& why : imported.refused) std::fprintf(stderr, "calibrate: %s%s\n", what, why.c_str());
    add(profile, imported, path);
  }
  profile.name = name_of(request.output);
  profile.fits = fit_curves(profile.samples);
  profile.provenance = provenance(request.argv, "none", inputs);
  write_profile(request.output, profile);
  write_models(request.output, models, job_options);
  return 0;
}

int show_profile(const std::string& path) {
  print(report_text(load_profile(path)));
  return 0;
}

int merge_profiles(const std::string& a, const std::string& b, const std::string& output) {
  check_outputs({output});  // the output may be one of the inputs, since it holds the samples of both
  const Profile first = load_profile(a), second = load_profile(b);
  const Profile merged = merge(first, second, name_of(output));
  for (const std::string& line : differing_facts(first.device, second.device))
    std::fprintf(stderr, "calibrate: the devices' facts differ: %s\n", line.c_str());
  write_profile(output, merged);
  return 0;
}

}  // namespace lockstep::calib
