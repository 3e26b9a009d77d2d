#include "sim/launch/from_file.hpp"
#include "sim/launch/megatron_model.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_format.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/launch_line.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/tree.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kLargestFile = 4 << 20;

std::string text_of_file(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, kLargestFile, text, why)) throw InputError(path + ": " + why + "; give a readable file");
  return text;
}

// UTF-8 without zeros.
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

// Options without a value.
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

// False for programs that take a training's arguments and do not train.
bool may_train(const std::string& program) {
  const std::string name = lower_case(std::filesystem::path(program).filename().string());
  for (const char* other : {"generat", "text_gen", "preprocess", "convert", "inference", "server", "evaluat"})
    if (name.find(other) != std::string::npos) return false;
  return true;
}

// What a script starts, with all that was said about it.
struct Candidate {
  LaunchLine line;
  LaunchSettings settings;
  const LaunchReader* reader = nullptr;
};

class Launch {
 public:
  Launch(const LaunchRequest& request, const Catalogue& catalogue) : request_(request), catalogue_(catalogue) {
    job_.path = request.path;
  }

  LaunchedJob read(const std::string& text) {
    if (is_tree(text))
      read_configuration(text);
    else
      read_script(text);
    job_.settings.mark_rest(all_tables());
    job_.options = facts_.options(request_.gpus);
    job_.notes.insert(job_.notes.end(), facts_.notes.begin(), facts_.notes.end());
    return std::move(job_);
  }

 private:
  bool is_tree(const std::string& text) const {
    const std::string ending = std::filesystem::path(request_.path).extension().string();
    if (ending == ".json" || ending == ".yaml" || ending == ".yml" || ending == ".toml") return true;
    if (ending == ".sh" || ending == ".bash" || ending == ".slurm" || ending == ".sbatch") return false;
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

  void read_configuration(const std::string& text) {
    job_.settings = read_tree(text, request_.path, syntax_of(request_.path, text));
    if (job_.settings.has("model_type") && job_.settings.has("hidden_size") && !request_.format)
      throw InputError(request_.path + ": a model's configuration, which is no job; give it by --model " +
                       request_.path);
    if (job_.settings.has("schema")) refuse_known_format(request_.path);
    if (job_.settings.has("schema"))
      throw InputError(request_.path + ": a file of Lockstep; give it to simulate or plan without \"job --from\"");
    reader_ = &chosen(recognisers_of(job_.settings, request_.format));
    job_.format = reader_->format;
    job_.title = reader_->title;
    read_by_reader();
  }

  void read_script(const std::string& text) {
    const std::vector<ShellCommand> directives = read_directives(text, request_.path);
    script_ = read_shell(text, request_.path, slurm_environment(directives));
    check_stray_arguments();
    Candidate candidate = chosen_candidate();
    job_.settings = std::move(candidate.settings);
    LaunchSetting program;
    program.key = "program";
    program.written = program.value = candidate.line.program;
    program.place = candidate.line.place;
    program.use = Use::read;
    job_.settings.add(std::move(program));
    job_.settings.append(candidate.line.launchers);
    job_.settings.append(directive_settings(script_.directives));
    job_.settings.append(environment_settings(script_));
    reader_ = candidate.reader;
    job_.format = reader_->format;
    job_.title = "a launch script with " + reader_->title;
    job_.notes = candidate.line.notes;
    job_.notes.insert(job_.notes.end(), script_.notes.begin(), script_.notes.end());
    if (candidate.line.is_conditional)
      job_.notes.push_back(candidate.line.place.text() + ": the command runs under a test or loop that is not known");
    read_machine(job_.settings, candidate.line.starts_processes, facts_, catalogue_);
    read_by_reader();
  }

  void read_by_reader() {
    reader_->read(job_.settings, facts_, catalogue_, [this](const LaunchSetting& setting, const std::string& name) {
      return text_of_named(setting, name);
    });
  }

  // A comment within a command of several lines ends it.
  void check_stray_arguments() const {
    for (const ShellCommand& command : script_.commands)
      if (!command.words.empty() && command.words.front().text.compare(0, 2, "--") == 0)
        throw InputError(command.place.text() + ": arguments without a command (" +
                         in_quotes(command.words.front().text) +
                         "): the line above ends the command; remove the comment, or add a backslash");
  }

  // The configuration that a command names: "train.yaml" of "llamafactory-cli train train.yaml".
  void add_named_configuration(Candidate& candidate) {
    for (const LaunchSetting& setting : candidate.settings.all()) {
      const std::string name = plain_text(setting.value);
      const std::string ending = std::filesystem::path(name).extension().string();
      const bool is_argument = setting.key == "argument" || setting.key == "job.config_file" ||
                               setting.key == "config" || setting.key == "config_file" || setting.key == "exp";
      if (!is_argument || (ending != ".yaml" && ending != ".yml" && ending != ".toml" && ending != ".json")) continue;
      LaunchSettings merged = read_tree(text_of_named(setting, name), request_.path + ": " + name, syntax_of(name, ""));
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

  Candidate chosen_candidate() {
    std::vector<Candidate> found;
    for (LaunchLine& line : launch_lines(script_)) {
      if (!may_train(line.program)) continue;
      Candidate candidate{line, argument_settings(line.arguments, argument_flags())};
      const std::vector<const LaunchReader*> readers = recognisers_of(candidate.settings, request_.format);
      if (!readers.empty())
        candidate.reader = &chosen(readers);
      else
        add_named_configuration(candidate);
      if (candidate.reader != nullptr) found.push_back(std::move(candidate));
    }
    if (found.size() == 1) return std::move(found.front());
    if (found.empty())
      throw InputError(request_.path +
                       ": no command starts a training with arguments that are known; allowed: a launch script or a "
                       "configuration of " +
                       format_list());
    std::vector<std::string> places;
    for (const Candidate& candidate : found) places.push_back(candidate.line.place.text());
    throw InputError(request_.path + ": several commands start a training: " + joined(places) + "; keep one");
  }

  std::string text_of_named(const LaunchSetting& setting, const std::string& name) {
    for (const auto& [path, content] : script_.written_files)
      if (path == name) {
        if (!content.unknown.empty())
          throw InputError(content.place.text() + ": " + name +
                           " has a part that cannot be evaluated: " + content.unknown + "; set it in the script");
        return content.text;
      }
    const std::filesystem::path folder = std::filesystem::path(request_.path).parent_path();
    std::error_code error;
    const std::string path = std::filesystem::path(name).is_absolute() || std::filesystem::exists(name, error)
                                 ? name
                                 : (folder / name).string();
    std::string text, why;
    if (!try_read_file(path, kLargestFile, text, why))
      throw InputError(setting.text() + ": " + why + "; put the file beside the script");
    return text;
  }

  std::vector<UnreadKeys> all_tables() const {
    std::vector<UnreadKeys> tables = reader_->unread;
    tables.insert(tables.end(), environment_unread().begin(), environment_unread().end());
    return tables;
  }

  const LaunchRequest& request_;
  const Catalogue& catalogue_;
  LaunchedJob job_;
  Facts facts_;
  ShellScript script_;
  const LaunchReader* reader_ = nullptr;
};

bool is_plain(const std::string& word) {
  const auto is_safe = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string("_-./@,:+=").find(c) != std::string::npos;
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_safe);
}

std::string in_shell_quotes(const std::string& word) {
  if (is_plain(word)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Keys of that use, grouped by the reason.
std::string uses_text(const LaunchSettings& settings, Use use, const std::string& head) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const LaunchSetting& setting : settings.all()) {
    if (setting.use != use) continue;
    const std::string name =
        beginning_of(setting.written, 60) +
        (use == Use::unknown && setting.place.line > 0 ? " (line " + std::to_string(setting.place.line) + ")" : "");
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == setting.why; });
    if (group == groups.end())
      groups.emplace_back(setting.why, name);
    else
      group->second += ", " + name;
  }
  if (groups.empty()) return "";
  std::string text = head;
  for (std::size_t i = 0; i < groups.size(); ++i)
    text += (i > 0 ? "; " : " ") + groups[i].second + (groups[i].first.empty() ? "" : " (" + groups[i].first + ")");
  return text + "\n";
}

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

std::string command_text(const std::vector<LaunchOption>& options) {
  std::string text;
  for (const LaunchOption& option : options) {
    text += (text.empty() ? "" : " ") + option.name;
    if (!option.value.empty()) text += " " + in_shell_quotes(option.value);
  }
  return text;
}

std::string launch_text(const LaunchedJob& job, const std::vector<std::string>& overriding) {
  std::string text = "read from " + job.path + ": " + command_text(job.options) + "\n";
  text += "format: " + job.title + " (" + name_of(job.format) + ")\n";
  if (!overriding.empty()) text += "the command line wins: " + joined(overriding) + "\n";
  text += uses_text(job.settings, Use::no_effect, "ignored, no effect on speed:");
  text += uses_text(job.settings, Use::not_simulated, "not simulated:");
  text += uses_text(job.settings, Use::unknown, "unknown, not read:");
  for (const std::string& note : job.notes) text += "note: " + note + "\n";
  return text;
}

Json launch_json(const LaunchedJob& job, const std::vector<std::string>& overriding) {
  Json settings = Json::array();
  for (const LaunchSetting& setting : job.settings.all()) {
    Json entry{{"key", setting.written},
               {"value", setting.value},
               {"place", setting.place.text()},
               {"use", name_of(setting.use)}};
    if (!setting.why.empty()) entry["why"] = setting.why;
    settings.push_back(entry);
  }
  return {{"file", job.path},         {"format", name_of(job.format)}, {"options", command_text(job.options)},
          {"overriding", overriding}, {"settings", settings},          {"notes", job.notes}};
}

}  // namespace lockstep::sim::launch
