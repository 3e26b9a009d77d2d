#include "sim/launch/from_file.hpp"
#include "sim/launch/megatron_model.hpp"

#include <filesystem>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_format.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/launch_line.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/python_repr.hpp"
#include "sim/launch/tree.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kLargestFile = 4 << 20, kMostCandidates = 16;

std::string text_of_file(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, kLargestFile, text, why)) throw InputError(path + ": " + why + "; give a readable file");
  return text;
}

// Valid text is UTF-8 without zero bytes.
bool is_valid_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  try {
    return !Json(text).dump().empty();
  } catch (const Json::exception&) {
    return false;
  }
}

std::string format_list() {
  return joined(choice_names<LaunchFormat>());
}

// Options that have no value.
std::vector<std::string> argument_flags() {
  std::vector<std::string> all{"bf16",
                               "fp16",
                               "group_query_attention",
                               "use_rotary_position_embeddings",
                               "no_position_embedding",
                               "disable_bias_linear",
                               "multi_latent_attention",
                               "sequence_parallel",
                               "overlap_moe_expert_parallel_comm",
                               "moe_enable_deepep",
                               "tp_comm_overlap",
                               "use_tp_pp_dp_mapping",
                               "use_distributed_optimizer",
                               "use_megatron_fsdp",
                               "use_custom_fsdp",
                               "use_torch_fsdp2",
                               "recompute_activations",
                               "checkpoint_activations",
                               "deepspeed_activation_checkpointing",
                               "fp8_hybrid",
                               "fp8_e4m3",
                               "optimizer_cpu_offload",
                               "deepspeed",
                               "cpu_optimizer"};
  all.insert(all.end(), megatron_model_flags().begin(), megatron_model_flags().end());
  return all;
}

std::vector<const LaunchReader*> recognisers_of(const LaunchSettings& settings,
                                                const std::optional<LaunchFormat>& forced) {
  std::vector<const LaunchReader*> found;
  for (const LaunchReader& reader : launch_readers())
    if (forced ? reader.format == *forced : reader.recognises(settings)) found.push_back(&reader);
  return found;
}

// False for programs that accept training arguments but do not train.
bool may_train(const std::string& program) {
  const std::string name = lower_case(std::filesystem::path(program).filename().string());
  for (const char* other : {"generat", "text_gen", "preprocess", "convert", "inference", "server", "evaluat", "analyz"})
    if (name.find(other) != std::string::npos) return false;
  return true;
}

// A command that starts a training, with everything that the script gives for it.
struct Candidate {
  LaunchLine line;
  LaunchSettings settings;
  const LaunchReader* reader = nullptr;
};

// All options except the length of the training. Commands with the same ones run equally fast.
std::string options_of_rate(const std::vector<LaunchOption>& options) {
  std::vector<LaunchOption> kept;
  for (const LaunchOption& option : options)
    if (option.name != "--tokens") kept.push_back(option);
  return command_text(kept);
}

// The words of a variable that contains options, such as MODEL_ARGS="--num-layers 2 ..."; empty if it contains none.
std::vector<Word> option_words(const Value& value) {
  std::vector<Word> words = value;
  if (value.size() == 1) {
    words.clear();
    std::istringstream stream(value.front().text);
    for (std::string word; stream >> word;) words.push_back({word, "", value.front().place});
  }
  while (!words.empty() && words.front().text.compare(0, 2, "--") != 0 && words.front().text.find('$') == 0)
    words.erase(words.begin());
  const bool has_options = !words.empty() && words.front().text.compare(0, 2, "--") == 0;
  return has_options ? words : std::vector<Word>{};
}

// A job that was read, with its facts.
struct Reading {
  LaunchedJob job;
  Facts facts;
  const LaunchReader* reader = nullptr;
};

class Launch {
 public:
  Launch(const LaunchRequest& request, const Catalogue& catalogue) : request_(request), catalogue_(catalogue) {}

  LaunchedJob read(const std::string& text) {
    Reading reading = is_tree(text) ? read_configuration(text) : read_script(text);
    std::vector<UnreadKeys> tables = reading.reader->unread;
    tables.insert(tables.end(), environment_unread().begin(), environment_unread().end());
    reading.job.settings.mark_rest(tables);
    reading.job.options = reading.facts.options(request_.gpus, request_.needs_global_batch);
    const std::vector<std::string>& notes = reading.facts.notes;
    reading.job.notes.insert(reading.job.notes.end(), notes.begin(), notes.end());
    return std::move(reading.job);
  }

 private:
  bool is_tree(const std::string& text) const {
    const std::string ending = std::filesystem::path(request_.path).extension().string();
    if (ending == ".json" || ending == ".yaml" || ending == ".yml" || ending == ".toml") return true;
    if (ending == ".sh" || ending == ".bash" || ending == ".slurm" || ending == ".sbatch") return false;
    if (is_python_repr(text)) return true;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{';
  }

  const LaunchReader& chosen(const std::vector<const LaunchReader*>& found) const {
    if (found.size() == 1) return *found.front();
    std::vector<std::string> names;
    for (const LaunchReader* reader : found) names.push_back(name_of(reader->format));
    throw InputError(request_.path + ": " +
                     (found.empty() ? "no known format of launch scripts and configurations"
                                    : "keys of several formats (" + joined(names) + ")") +
                     "; force one by --from-format: " + format_list());
  }

  Reading reading_of(const LaunchReader& reader, LaunchSettings settings) const {
    Reading reading;
    reading.job.path = request_.path;
    reading.job.format = reader.format;
    reading.job.title = reader.title;
    reading.job.settings = std::move(settings);
    reading.reader = &reader;
    return reading;
  }

  void read_by_reader(Reading& reading) {
    reading.reader->read(reading.job.settings, reading.facts, catalogue_,
                         [this](const std::string& name) { return text_of_named(name); });
  }

  Reading read_configuration(const std::string& text) {
    const std::optional<Json> printed = is_python_repr(text) ? tree_of_python_repr(text) : std::nullopt;
    LaunchSettings settings = printed ? read_tree(printed->dump(), request_.path, TreeSyntax::json)
                                      : read_tree(text, request_.path, syntax_of(request_.path, text));
    if (settings.has("model_type") && settings.has("hidden_size") && !request_.format)
      throw InputError(request_.path + ": a model's configuration, which is no job; give it by --model " +
                       request_.path);
    if (settings.has("schema")) refuse_known_format(request_.path);
    if (settings.has("schema"))
      throw InputError(request_.path + ": a file of Lockstep; give it to simulate or plan without \"job --from\"");
    const LaunchReader& reader = chosen(recognisers_of(settings, request_.format));
    Reading reading = reading_of(reader, std::move(settings));
    read_by_reader(reading);
    return reading;
  }

  Reading read_script(const std::string& text) {
    const std::vector<ShellCommand> directives = read_directives(text, request_.path);
    const auto read_file = [this](const std::string& path) {
      const std::filesystem::path one(path);
      return file_beside(one.is_absolute() ? one.filename().string() : path);
    };
    const ShellSurroundings surroundings{slurm_environment(directives), read_file};
    script_ = read_shell(text, request_.path, surroundings);
    check_stray_arguments();
    const std::vector<Candidate> found = candidates();
    if (found.empty())
      throw InputError(request_.path +
                       ": no command starts a training with arguments that are known; allowed: a launch script or a "
                       "configuration of " +
                       format_list());
    if (found.size() > kMostCandidates) refuse_several(found);
    Reading first = read_candidate(found.front());
    const std::string rate = options_of_rate(first.facts.options(request_.gpus));
    for (std::size_t i = 1; i < found.size(); ++i) {
      const Reading other = read_candidate(found[i]);
      if (other.reader != first.reader || options_of_rate(other.facts.options(request_.gpus)) != rate)
        refuse_several(found);
      const std::string place = found[i].line.place.text();
      first.job.notes.push_back(place + ": starts a training with the same options, which is not read again");
    }
    return first;
  }

  [[noreturn]] void refuse_several(const std::vector<Candidate>& found) const {
    std::vector<std::string> places;
    for (const Candidate& candidate : found)
      if (places.size() < kMostCandidates) places.push_back(candidate.line.place.text());
    throw InputError(request_.path + ": several commands start a training: " + joined(places) + "; keep one");
  }

  Reading read_candidate(const Candidate& candidate) {
    Reading reading = reading_of(*candidate.reader, candidate.settings);
    LaunchedJob& job = reading.job;
    if (!candidate.line.program.empty()) {
      LaunchSetting program;
      program.key = "program";
      program.written = program.value = candidate.line.program;
      program.place = candidate.line.place;
      program.use = Use::read;
      job.settings.add(std::move(program));
    }
    job.settings.append(candidate.line.launchers);
    job.settings.append(directive_settings(script_.directives));
    job.settings.append(environment_settings(script_));
    job.title = "a launch script with " + job.title;
    job.notes = candidate.line.notes;
    job.notes.insert(job.notes.end(), script_.notes.begin(), script_.notes.end());
    if (candidate.line.is_conditional)
      job.notes.push_back(candidate.line.place.text() + ": the command runs under a test or loop that is not known");
    read_machine(job.settings, candidate.line, script_, reading.facts, catalogue_,
                 [this](const std::string& name) { return text_of_named(name); });
    const std::optional<LaunchSetting> open = open_part(job.settings);
    reading.facts.has_open_part = open.has_value();
    read_by_reader(reading);
    for (const std::string& option : reading.facts.open_options)
      job.settings.require_option(*open, option, "cannot be evaluated, and may give it");
    return reading;
  }

  // An unknown word of the command: a variable that the script sets under a test that cannot be evaluated.
  std::optional<LaunchSetting> open_part(const LaunchSettings& settings) const {
    for (const LaunchSetting& setting : settings.all()) {
      if (setting.key != "argument" || setting.unknown.empty() || setting.unknown != setting.written) continue;
      std::string name;
      for (const char c : setting.unknown)
        if (c != '$' && c != '{' && c != '}') name += c;
      if (script_.variables.count(name) > 0) return setting;
    }
    return std::nullopt;
  }

  // A comment inside a command of several lines ends the command: its further arguments then look like commands.
  void check_stray_arguments() const {
    for (const ShellCommand& command : script_.commands)
      if (!command.words.empty() && command.words.front().text.compare(0, 2, "--") == 0)
        throw InputError(command.place.text() + ": arguments without a command (" +
                         in_quotes(command.words.front().text) +
                         "): the line above ends the command; remove the comment, or add a backslash");
  }

  // Reads the configuration that a command names: "train.yaml" in "llamafactory-cli train train.yaml".
  // MaxText's base configuration may be missing.
  void add_named_configuration(Candidate& candidate) {
    const bool is_needed = candidate.reader == nullptr;
    for (const LaunchSetting& setting : candidate.settings.all()) {
      const std::string name = plain_text(setting.value);
      const std::string ending = std::filesystem::path(name).extension().string();
      const bool is_argument = setting.key == "argument" || setting.key == "job.config_file" ||
                               setting.key == "config" || setting.key == "config_file" || setting.key == "exp";
      if (!is_argument || (ending != ".yaml" && ending != ".yml" && ending != ".toml" && ending != ".json")) continue;
      const std::optional<std::string> text = text_of_named(name).text;
      if (!text && !is_needed) {
        candidate.line.notes.push_back(setting.text() + ": the file is not there; the software's defaults are taken");
        continue;
      }
      if (!text && candidate.line.is_framework)
        throw InputError(setting.text() + ": the file is not there; put it beside the script");
      if (!text) continue;
      LaunchSettings merged = read_tree(*text, request_.path + ": " + name, syntax_of(name, ""));
      const std::vector<const LaunchReader*> found = recognisers_of(merged, request_.format);
      if (found.empty()) continue;
      candidate.reader = &chosen(found);
      const std::string key = setting.key;
      merged.append(candidate.settings);
      candidate.settings = std::move(merged);
      candidate.settings.take(key);
      return;
    }
  }

  std::vector<Candidate> candidates() {
    std::vector<Candidate> found;
    const std::vector<LaunchLine> lines = launch_lines(script_);
    for (const LaunchLine& line : lines) {
      if (!may_train(line.program)) continue;
      Candidate candidate{line, argument_settings(line.arguments, argument_flags())};
      const std::vector<const LaunchReader*> readers = recognisers_of(candidate.settings, request_.format);
      if (!readers.empty()) candidate.reader = &chosen(readers);
      if (candidate.reader == nullptr || candidate.reader->format == LaunchFormat::maxtext)
        add_named_configuration(candidate);
      if (candidate.reader != nullptr) found.push_back(std::move(candidate));
    }
    if (!found.empty()) return found;
    for (const Candidate& candidate : {variable_candidate(), environment_candidate()})
      if (candidate.reader != nullptr) return {candidate};
    return program_candidates(lines);
  }

  // For a script that only sets MODEL_ARGS="--num-layers ..." and is sourced by another one.
  Candidate variable_candidate() const {
    Candidate candidate;
    std::vector<Word> words;
    for (const auto& [name, value] : script_.variables) {
      const std::vector<Word> options = option_words(value);
      words.insert(words.end(), options.begin(), options.end());
      if (!options.empty())
        candidate.line.notes.push_back("no command starts a training: the options in " + name + " are read");
    }
    if (words.empty()) return candidate;
    candidate.line.place = words.front().place;
    candidate.settings = argument_settings(words, argument_flags());
    const std::vector<const LaunchReader*> readers = recognisers_of(candidate.settings, request_.format);
    if (readers.size() == 1) candidate.reader = readers.front();
    return candidate;
  }

  // For a script that only exports variables for another one, as MLPerf's submissions do.
  Candidate environment_candidate() const {
    Candidate candidate;
    const std::vector<const LaunchReader*> readers = recognisers_of(environment_settings(script_), request_.format);
    if (readers.size() == 1) candidate.reader = readers.front();
    return candidate;
  }

  // Users' own training programs: those started by a launcher; if there are none, all others.
  std::vector<Candidate> program_candidates(const std::vector<LaunchLine>& lines) const {
    for (const bool needs_launcher : {true, false}) {
      std::vector<Candidate> found;
      for (const LaunchLine& line : lines) {
        const bool has_launcher = line.starts_processes || !line.launchers.all().empty();
        if (!may_train(line.program) || has_launcher != needs_launcher) continue;
        found.push_back({line, argument_settings(line.arguments, argument_flags()), &reader_of(LaunchFormat::program)});
      }
      if (!found.empty()) return found;
    }
    return {};
  }

  // The text of the file at this path; else of the file in the script's folder at the path's last components.
  std::optional<std::string> file_beside(const std::string& name) const {
    std::vector<std::filesystem::path> places{name};
    const std::filesystem::path folder = std::filesystem::path(request_.path).parent_path();
    for (std::size_t begin = 0; begin < name.size() && places.size() < 16;) {
      if (name[begin] != '/') places.push_back(folder / name.substr(begin));
      const std::size_t slash = name.find('/', begin);
      begin = slash == std::string::npos ? name.size() : slash + 1;
    }
    for (const std::filesystem::path& place : places) {
      std::error_code error;
      if (place.filename().empty() || !std::filesystem::is_regular_file(place, error)) continue;
      std::string text, why;
      if (try_read_file(place.string(), kLargestFile, text, why)) return text;
    }
    return std::nullopt;
  }

  NamedFile text_of_named(const std::string& name) const {
    const auto written = script_.written_files.find(name);
    if (written != script_.written_files.end()) {
      const std::string& unknown = written->second.unknown;
      if (unknown.empty()) return {written->second.text, ""};
      return {std::nullopt, "a part of it cannot be evaluated: " + one_line(unknown)};
    }
    return {file_beside(name), "the file is not there"};
  }

  const LaunchRequest& request_;
  const Catalogue& catalogue_;
  ShellScript script_;
};

}  // namespace

LaunchedJob read_launch_text(const std::string& text, const LaunchRequest& request, const Catalogue& catalogue) {
  if (!is_valid_text(text))
    throw InputError(request.path + ": bytes that are no text; give a launch script or a configuration");
  return Launch(request, catalogue).read(text);
}

LaunchedJob read_launch(const LaunchRequest& request, const Catalogue& catalogue) {
  const std::string text = text_of_file(request.path);
  return read_launch_text(text, request, catalogue);
}

}  // namespace lockstep::sim::launch
