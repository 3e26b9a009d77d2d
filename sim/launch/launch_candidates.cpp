#include "sim/launch/launch_candidates.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/hydra.hpp"
#include "sim/launch/megatron_model.hpp"
#include "sim/launch/tree_syntax.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

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

// False for programs that accept training arguments but do not train.
bool may_train(const std::string& program) {
  const std::string name = lower_case(std::filesystem::path(program).filename().string());
  for (const char* other : {"generat", "text_gen", "preprocess", "convert", "inference", "server", "evaluat", "analyz"})
    if (name.find(other) != std::string::npos) return false;
  return true;
}

// The words of a variable that contains options, such as MODEL_ARGS="--num-layers 2 ..."; empty if it contains none.
std::vector<Word> option_words(const Value& value) {
  std::vector<Word> words = value;
  if (value.size() == 1) {
    words.clear();
    std::istringstream stream(value.front().text);
    for (std::string word; stream >> word;)
      words.push_back({word, word.find('$') == std::string::npos ? "" : word, value.front().place});
  }
  while (!words.empty() && words.front().text.compare(0, 2, "--") != 0 && words.front().text.find('$') == 0)
    words.erase(words.begin());
  const bool has_options = !words.empty() && words.front().text.compare(0, 2, "--") == 0;
  return has_options ? words : std::vector<Word>{};
}

// Options that name a configuration. "argument": "train.yaml" in "llamafactory-cli train train.yaml".
bool names_configuration(const LaunchSetting& setting) {
  for (const char* key : {"argument", "job.config_file", "config", "config_file", "exp", "yaml_cfg", "c"})
    if (setting.key == key) return true;
  return false;
}

bool has_ending_of_configuration(const std::string& name) {
  const std::string ending = std::filesystem::path(name).extension().string();
  return ending == ".yaml" || ending == ".yml" || ending == ".toml" || ending == ".json";
}

class CandidateFinder {
 public:
  CandidateFinder(const LaunchRequest& request, const ShellScript& script, const ReadNamedFile& read_named)
      : request_(request), script_(script), read_named_(read_named) {}

  std::vector<Candidate> find() const {
    std::vector<Candidate> found;
    const std::vector<LaunchLine> lines = launch_lines(script_);
    for (const LaunchLine& line : lines) {
      if (!may_train(line.program)) continue;
      Candidate candidate{line, argument_settings(line.arguments, argument_flags())};
      const std::vector<const LaunchReader*> readers = recognisers_of(candidate.settings, request_.format);
      if (is_swift_program(line.program) && !request_.format)
        candidate.reader = &reader_of(LaunchFormat::ms_swift);
      else if (!readers.empty())
        candidate.reader = &only_reader(readers, request_.path);
      add_named_configuration(candidate);
      if (candidate.reader != nullptr) found.push_back(std::move(candidate));
    }
    if (!found.empty()) return found;
    for (const Candidate& candidate : {variable_candidate(), environment_candidate()})
      if (candidate.reader != nullptr) return {candidate};
    return program_candidates(lines);
  }

 private:
  static bool is_swift_program(const std::string& program) {
    const std::string name = last_part_of(program);
    return name == "swift" || name == "megatron" || program.find("swift/cli/") != std::string::npos;
  }

  // Reads the configuration that a command names. The command's other arguments override it.
  void add_named_configuration(Candidate& candidate) const {
    if (add_hydra_configuration(candidate) || add_neox_configurations(candidate)) return;
    for (const LaunchSetting& setting : candidate.settings.all()) {
      const std::string name = plain_text(setting.value);
      const bool is_option = setting.key != "argument";
      if (!names_configuration(setting) || (!is_option && !may_be_positional(candidate))) continue;
      if (!setting.unknown.empty() && is_option) return note_missing(candidate, setting, "cannot be evaluated");
      if (!has_ending_of_configuration(name)) continue;
      const std::optional<std::string> text = read_named_(name).text;
      if (!text && !is_option && candidate.reader == nullptr && !candidate.line.is_framework) continue;
      if (!text) return note_missing(candidate, setting, "the file is not there");
      if (merge_configuration(candidate, setting, name, *text)) return;
    }
  }

  static std::optional<LaunchSetting> last_setting(const Candidate& candidate, const std::string& key) {
    std::optional<LaunchSetting> found;
    for (const LaunchSetting& setting : candidate.settings.all())
      if (setting.key == key) found = setting;
    return found;
  }

  // Hydra, as in NeMo: "--config-path conf --config-name gpt". Returns whether the file was read.
  bool add_hydra_configuration(Candidate& candidate) const {
    const auto name = last_setting(candidate, "config_name"), folder = last_setting(candidate, "config_path");
    if (!name) return false;
    std::string file = plain_text(name->value);
    if (!folder && !has_ending_of_configuration(file))
      return false;  // a model's configuration, in HuggingFace's scripts
    const bool is_known = name->unknown.empty() && (!folder || folder->unknown.empty());
    if (!has_ending_of_configuration(file)) file += ".yaml";
    for (const std::string& path : {folder ? plain_text(folder->value) + "/" + file : file, file}) {
      const std::optional<std::string> text = is_known ? read_named_(path).text : std::nullopt;
      if (!text || !merge_configuration(candidate, *name, path, *text)) continue;
      candidate.settings.take("config_path");
      return true;
    }
    if (candidate.reader != nullptr)
      note_missing(candidate, name->unknown.empty() && folder ? (folder->unknown.empty() ? *name : *folder) : *name,
                   is_known ? "the file is not there" : "cannot be evaluated");
    return false;
  }

  // Joins the file with those of Hydra's list of defaults, before the keys of the command.
  LaunchSettings with_defaults(const Candidate& candidate, const std::string& text, const std::string& name) const {
    const LaunchSettings& overrides = candidate.settings;
    HydraFiles files{request_.path, overrides, read_named_};
    LaunchSettings all = files.read(text, name);
    all.append(overrides);
    for (const std::string& group : files.groups()) {
      all.rename(group, "group " + group);  // "model=llama"
      all.mark("group " + group, Use::read, "");
    }
    all.resolve_references(variables_of(script_, candidate.line.shell).exported);
    return all;
  }

  // GPT-NeoX joins several files: "deepy.py train.py -d configs 125M.yml local_setup.yml".
  bool add_neox_configurations(Candidate& candidate) const {
    const std::string program = std::filesystem::path(candidate.line.program).filename().string();
    if (program != "deepy.py" && program != "deepy") return false;
    const auto short_folder = last_setting(candidate, "d"), folder = last_setting(candidate, "conf_dir");
    const std::string place = short_folder ? plain_text(short_folder->value) + "/"
                              : folder     ? plain_text(folder->value) + "/"
                                           : "";
    LaunchSettings merged;
    for (const LaunchSetting& setting : candidate.settings.all()) {
      const std::string name = plain_text(setting.value);
      if (setting.key != "argument" || std::filesystem::path(name).extension() == ".py") continue;
      std::optional<std::string> text;
      for (const std::string& path : {place + name, place + name + ".yml", name})
        if (!text) text = read_named_(path).text;
      if (!text) throw InputError(setting.text() + ": the file is not there; put it in the folder of the script");
      merged.append(read_tree(*text, request_.path + ": " + name, syntax_of("neox.yml", *text)));
    }
    candidate.reader = &reader_of(LaunchFormat::gpt_neox);
    candidate.settings = std::move(merged);
    return true;
  }

  static bool may_be_positional(const Candidate& candidate) {
    return candidate.reader == nullptr || candidate.line.is_framework ||
           candidate.reader->format == LaunchFormat::maxtext;
  }

  // Returns whether the file is a configuration of a training.
  bool merge_configuration(Candidate& candidate, const LaunchSetting& setting, const std::string& name,
                           const std::string& text) const {
    const TreeSyntax syntax = syntax_of(name, text);
    const std::string place = request_.path + ": " + name;
    const std::vector<const LaunchReader*> of_file = recognisers_of(read_tree(text, place, syntax), request_.format);
    LaunchSettings merged = with_defaults(candidate, text, name);
    const bool is_swift = candidate.reader != nullptr && candidate.reader->format == LaunchFormat::ms_swift;
    if (!of_file.empty() && !is_swift) {
      const LaunchReader& reader = only_reader(of_file, request_.path);
      const bool is_part = reader.format == LaunchFormat::deepspeed || reader.format == LaunchFormat::accelerate;
      if (is_part && candidate.reader != nullptr) return false;
      candidate.reader = &reader;
    } else if (candidate.reader == nullptr) {
      const std::vector<const LaunchReader*> of_both = recognisers_of(merged, request_.format);
      if (of_both.size() != 1) return false;
      candidate.reader = of_both.front();
    }
    const std::string key = setting.key;
    merged.take(key);
    candidate.settings = std::move(merged);
    return true;
  }

  // Without its file, torchtitan's or a framework's command describes no job. MaxText's base file has known defaults.
  static void note_missing(Candidate& candidate, const LaunchSetting& setting, const std::string& why) {
    const bool is_titan = candidate.reader != nullptr && candidate.reader->format == LaunchFormat::torchtitan;
    if (candidate.reader != nullptr && candidate.reader->format == LaunchFormat::maxtext)
      return candidate.line.notes.push_back(setting.text() + ": " + why + "; the software's defaults are taken");
    if ((is_titan && (has_ending_of_configuration(plain_text(setting.value)) || setting.key == "job.config_file")) ||
        (candidate.line.is_framework && candidate.reader == nullptr && setting.unknown.empty()))
      throw InputError(setting.text() + ": " + why + "; put it in the folder of the script" +
                       (setting.unknown.empty() ? "" : ", and write its name instead of " + one_line(setting.unknown)));
    candidate.missing_configuration = setting;
    candidate.missing_configuration->unknown = setting.unknown.empty() ? plain_text(setting.value) : setting.unknown;
    candidate.missing_configuration->why = why;
    candidate.line.notes.push_back(setting.text() + ": " + why + "; its values are not known");
  }

  // Collects options from variables, for a script that only sets MODEL_ARGS="--num-layers ..." for the script that
  // sources it.
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

  // Recognises a script that only exports variables for another one, as MLPerf's submissions do.
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

  const LaunchRequest& request_;
  const ShellScript& script_;
  const ReadNamedFile& read_named_;
};

}  // namespace

std::string format_list() {
  return joined(choice_names<LaunchFormat>());
}

std::vector<const LaunchReader*> recognisers_of(const LaunchSettings& settings,
                                                const std::optional<LaunchFormat>& forced) {
  std::vector<const LaunchReader*> found;
  for (const LaunchReader& reader : launch_readers())
    if (forced ? reader.format == *forced : reader.recognises(settings)) found.push_back(&reader);
  return found;
}

const LaunchReader& only_reader(const std::vector<const LaunchReader*>& found, const std::string& path) {
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const LaunchReader* reader : found) names.push_back(name_of(reader->format));
  throw InputError(path + ": " +
                   (found.empty() ? "no known format of launch scripts and configurations"
                                  : "keys of several formats (" + joined(names) + ")") +
                   "; to read it as one of them, give --from-format: " + format_list());
}

std::vector<Candidate> find_candidates(const LaunchRequest& request, const ShellScript& script,
                                       const ReadNamedFile& read_named) {
  return CandidateFinder(request, script, read_named).find();
}

}  // namespace lockstep::sim::launch
