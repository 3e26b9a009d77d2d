#include "sim/launch/from_file.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_format.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/launch_candidates.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/skypilot.hpp"
#include "sim/launch/tree_syntax.hpp"
#include "sim/launch/words.hpp"

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

// All options except the length and the batches of the training. Commands with the same ones run equally fast.
std::string options_of_rate(const std::vector<LaunchOption>& options) {
  std::vector<LaunchOption> kept;
  for (const LaunchOption& option : options)
    if (option.name != "--tokens" && option.name != "--batch-ramp") kept.push_back(option);
  return command_text(kept);
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
    if (const auto logged = find_logged_configuration(text)) return read(*logged);
    Reading reading = find_syntax(request_.path, text) ? read_configuration(text) : read_script(text);
    std::vector<UnreadKeys> tables = reading.reader->unread;
    tables.insert(tables.end(), environment_unread().begin(), environment_unread().end());
    if (!task_.script.empty()) tables.insert(tables.end(), sky_unread().begin(), sky_unread().end());
    if (is_known_dense(reading.facts.value_of("--model"), catalogue_)) ignore_experts(reading);
    reading.job.settings.mark_rest(tables);
    reading.job.options = reading.facts.options(request_.gpus, request_.needs_global_batch);
    const std::set<std::string>& unset = reading.job.settings.taken_as_unset();
    if (!unset.empty())
      found_.push_back("taken as not set in the environment: " +
                       joined(std::vector<std::string>(unset.begin(), unset.end())));
    for (const std::vector<std::string>& notes : {reading.facts.notes, found_})
      reading.job.notes.insert(reading.job.notes.end(), notes.begin(), notes.end());
    return std::move(reading.job);
  }

 private:
  // Keys of experts are in many configurations of models that have none.
  static void ignore_experts(Reading& reading) {
    for (const char* option : {"--expert", "--expert-tensor", "--expert-overlap", "--no-expert-overlap",
                               "--expert-dispatch", "--expert-capacity"})
      if (const auto written = reading.facts.drop(option))
        reading.job.settings.mark_written(*written, Use::no_effect, "the model has no experts");
  }

  // Puts the settings of the files that "extends" names before those of this file, which override them.
  LaunchSettings with_extended(LaunchSettings settings) const {
    int files = 0;
    return with_extended(std::move(settings), 0, files);
  }
  LaunchSettings with_extended(LaunchSettings settings, int depth, int& files) const {
    constexpr int kMostLevels = 8, kMostFiles = 64;
    const std::vector<std::string> names = settings.words("extends");
    if (names.empty()) return settings;
    LaunchSettings all;
    for (const std::string& name : names) {
      if (depth >= kMostLevels || ++files > kMostFiles)
        throw InputError(settings.at("extends").text() + ": " + name +
                         ": files extend each other more than 8 deep, or more than 64 in all; join them into one");
      const std::optional<std::string> text = text_of_named(name).text;
      if (!text)
        throw InputError(settings.take("extends")->text() + ": " + name +
                         ": the file is not there; put it in the folder of this file");
      all.append(
          with_extended(read_tree(*text, request_.path + ": " + name, syntax_of(name, *text)), depth + 1, files));
    }
    all.append(settings);
    return all;
  }

  Reading reading_of(const LaunchReader& reader, LaunchSettings settings) const {
    Reading reading;
    reading.job.path = request_.path;
    reading.job.format = reader.format;
    reading.job.title = reader.title;
    reading.job.settings = std::move(settings);
    reading.reader = &reader;
    if (request_.gpus.size() == 1) reading.facts.given_gpus = request_.gpus.front();
    return reading;
  }

  void read_by_reader(Reading& reading) {
    reading.reader->read(reading.job.settings, reading.facts, catalogue_,
                         [this](const std::string& name) { return text_of_named(name); });
  }

  Reading read_configuration(const std::string& text) {
    LaunchSettings settings = with_extended(read_tree(text, request_.path, syntax_of(request_.path, text)));
    if (settings.has("model_type") && settings.has("hidden_size") && !request_.format)
      throw InputError(request_.path + ": a model's configuration, which is no job; give it by --model " +
                       request_.path);
    if (is_sky_task(settings)) return read_task(settings);
    if (settings.has("schema")) refuse_known_format(request_.path);
    if (settings.has("schema"))
      throw InputError(request_.path + ": a file of Lockstep; give it to simulate or plan without \"job --from\"");
    const std::vector<const LaunchReader*> recognisers = recognisers_of(settings, request_.format);
    const LaunchReader& reader = only_reader(recognisers, request_.path);
    Reading reading = reading_of(reader, std::move(settings));
    read_by_reader(reading);
    return reading;
  }

  // Reads the script of a SkyPilot task, which runs on the machines of the task.
  Reading read_task(const LaunchSettings& settings) {
    task_ = read_sky_task(settings);
    return read_script(task_.script);
  }

  Reading read_script(const std::string& written) {
    const std::string text = with_newlines(written);
    if (text.size() != written.size())
      found_.push_back(
          "the script has the line ends of Windows, which are read as newlines; bash does not accept them");
    const std::vector<ShellCommand> directives = read_directives(text, request_.path);
    const auto read_file = [this](const std::string& path) { return file_beside(path); };
    ShellSurroundings surroundings{slurm_environment(directives), {}, read_file};
    for (const auto& [name, value] : task_.environment) {
      surroundings.variables[name] = value;
      surroundings.exported.insert(name);
    }
    script_ = read_shell(text, request_.path, surroundings);
    check_stray_arguments();
    const std::vector<Candidate> found =
        find_candidates(request_, script_, [this](const std::string& name) { return text_of_named(name); });
    if (found.empty() && !script_.missing_scripts.empty())
      throw InputError(request_.path + ": starts a script that is not there: " + joined(script_.missing_scripts) +
                       "; put it in the folder of this one, or give it instead");
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
    throw InputError(request_.path + ": several commands start a training: " + joined(places) +
                     "; keep one of them in a copy of the file");
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
    job.settings.append(directive_settings(candidate.line.job ? *candidate.line.job : script_.directives));
    job.settings.append(environment_settings(variables_of(script_, candidate.line.shell)));
    job.settings.append(task_.settings);
    job.title = (task_.script.empty() ? "a launch script with " : "a SkyPilot task with ") + job.title;
    job.notes = candidate.line.notes;
    job.notes.insert(job.notes.end(), script_.notes.begin(), script_.notes.end());
    if (candidate.line.is_conditional)
      job.notes.push_back(
          candidate.line.place.text() +
          ": a test or loop that cannot be evaluated decides whether the command runs; it is assumed to run");
    read_machine(job.settings, candidate.line, script_, reading.facts, catalogue_,
                 [this](const std::string& name) { return text_of_named(name); });
    const std::optional<LaunchSetting> part = open_part(job.settings, variables_of(script_, candidate.line.shell));
    const std::optional<LaunchSetting>& open = part ? part : candidate.missing_configuration;
    reading.facts.has_open_part = open.has_value();
    reading.facts.has_open_output = part ? is_output(part->unknown) : candidate.missing_configuration.has_value();
    read_by_reader(reading);
    const std::string why = part || !open ? "cannot be evaluated" : open->why;
    for (const std::string& option : reading.facts.open_options)
      job.settings.require_option(*open, option, why + ", and may give it");
    if (!part && open) require_batch(job.settings, reading.facts, *open);
    return reading;
  }

  // A configuration that cannot be read may give the batch.
  static void require_batch(LaunchSettings& settings, const Facts& facts, const LaunchSetting& open) {
    if (!facts.micro_batch && !facts.global_batch)
      settings.require_option(open, "--micro-batch", open.why + ", and may give it");
    if (!facts.global_batch && facts.accumulation.value_or(1) == 1 && !settings.has("gradient_accumulation_steps"))
      settings.require_option(open, "--global-batch", open.why + ", and may give it");
  }

  // Whether it is the output of a program: "$(python3 get_args.py)".
  static bool is_output(const std::string& unknown) {
    return unknown.compare(0, 2, "$(") == 0 || unknown.compare(0, 1, "`") == 0;
  }

  // An unknown word of the command: the output of a program, or a variable that the script sets under a test that cannot
  // be evaluated.
  std::optional<LaunchSetting> open_part(const LaunchSettings& settings, const ShellVariables& shell) const {
    for (const LaunchSetting& setting : settings.all()) {
      if (setting.key != "argument" || setting.unknown.empty() || setting.unknown != setting.written) continue;
      if (is_output(setting.unknown)) return setting;
      std::string name;
      for (const char c : setting.unknown)
        if (c != '$' && c != '{' && c != '}') name += c;
      if (shell.variables.count(name) > 0) return setting;
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

  // The folder of the repository that has the launch file: the next one above with ".git". Empty: there is none.
  std::filesystem::path folder_of_repository() const {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::absolute(request_.path, error).parent_path();
    for (; !error && folder.has_relative_path(); folder = folder.parent_path())
      if (std::filesystem::exists(folder / ".git", error)) return folder;
    return {};
  }

  // Returns the text of the file at this path: from the working directory, the launch file's folder, the folders that
  // the script names, or the repository. At last, the path's last components are sought in the launch file's folder. A
  // note says where the file was found.
  std::optional<std::string> file_beside(const std::string& name) const {
    const std::filesystem::path folder = std::filesystem::path(request_.path).parent_path();
    const std::filesystem::path repository = folder_of_repository();
    std::vector<std::filesystem::path> places{name, folder / name};
    for (const std::string& named : script_.folders)
      for (const std::filesystem::path& base : {std::filesystem::path(named), folder / named})
        places.push_back(base / name);
    if (!repository.empty()) places.push_back(repository / name);
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      if (slash + 1 < name.size() && name[slash + 1] != '/' && places.size() < 256)
        places.push_back(folder / name.substr(slash + 1));
    for (const std::filesystem::path& place : places) {
      std::error_code error;
      if (place.filename().empty() || !std::filesystem::is_regular_file(place, error)) continue;
      std::string text, why;
      if (!try_read_file(place.string(), kLargestFile, text, why)) continue;
      text = with_newlines(text);
      const std::string note = name + " is read from " + place.lexically_normal().string();
      const bool is_elsewhere = place != folder / name && place != name;
      if (is_elsewhere && std::find(found_.begin(), found_.end(), note) == found_.end()) found_.push_back(note);
      return text;
    }
    return std::nullopt;
  }

  NamedFile text_of_named(const std::string& name) const {
    auto written = script_.written_files.find(name);
    if (written == script_.written_files.end())
      written = script_.written_files.find(name.compare(0, 2, "./") == 0 ? name.substr(2) : "./" + name);
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
  SkyTask task_;
  mutable std::vector<std::string> found_;  // notes: where files were found, and how they were read
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
