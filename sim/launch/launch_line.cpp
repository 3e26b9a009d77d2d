#include "sim/launch/launch_line.hpp"
#include "sim/launch/words.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestLauncher = 8;  // limit of launchers that start launchers

bool is_python(const std::string& name) {
  return name.compare(0, 6, "python") == 0 && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// Commands of frameworks, which are programs themselves.
const std::vector<std::string>& framework_commands() {
  static const std::vector<std::string> all{"llamafactory-cli", "axolotl", "primus-cli", "tune", "nemo", "lmf", "trl",
                                            "automodel"};
  return all;
}

bool is_process_launcher(const std::string& name) {
  return is_among(name, {"torchrun", "torchrun-hpc", "torch.distributed.run", "torch.distributed.launch", "deepspeed",
                         "accelerate", "composer"});
}

bool is_task_launcher(const std::string& name) {
  return is_among(name, {"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "jsrun", "aprun", "flux"});
}

bool begins_launch(const Word& word) {
  const std::string name = last_part_of(word.text);
  return is_python(name) || is_process_launcher(name) || is_task_launcher(name) ||
         is_among(name, framework_commands()) || ends_with(name, ".py") || name == "bash" || name == "sh";
}

// Whether a command of ms-swift begins here: "swift sft", "megatron pt".
bool begins_swift(const std::vector<Word>& words, std::size_t i) {
  const std::string name = last_part_of(words[i].text);
  return (name == "swift" || name == "megatron") && i + 1 < words.size() &&
         is_among(words[i + 1].text, {"sft", "pt", "rlhf"});
}

bool begins_launch_at(const std::vector<Word>& words, std::size_t i) {
  return begins_launch(words[i]) || begins_swift(words, i);
}

std::string key_of(std::string option) {
  option.erase(0, option.find_first_not_of('-'));
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

bool is_option(const Word& word) {
  const std::string& text = word.text;
  return text.size() > 1 && text[0] == '-' && !is_digit(text[1]) && text[1] != '.' &&
         text.substr(0, text.find('=')).find(' ') == std::string::npos;
}

// True for a short option with its number attached: "-N4", "-n32".
bool is_short_option_with_number(const std::string& text) {
  return text.size() > 2 && text[0] == '-' && text[1] != '-' && !is_digit(text[1]) &&
         text.find_first_not_of("0123456789", 2) == std::string::npos;
}

// Reads an option and its value from `words[i]` on; moves `i` behind them.
LaunchSetting option_setting(const std::vector<Word>& words, std::size_t& i, const std::string& prefix, bool is_flag) {
  const Word& word = words[i++];
  LaunchSetting setting;
  setting.place = word.place;
  setting.unknown = word.unknown;
  const std::size_t equals = word.text.find('=');
  setting.written = word.text.substr(0, equals);
  setting.key = prefix + key_of(setting.written);
  if (!prefix.empty() && is_short_option_with_number(word.text)) {
    setting.key = prefix + word.text.substr(1, 1);
    setting.value = word.text.substr(2);
    return setting;
  }
  if (equals != std::string::npos) {
    setting.value = word.text.substr(equals + 1);
  } else if (!is_flag && i < words.size() && !is_option(words[i])) {
    setting.value = words[i].text;
    setting.unknown = words[i].unknown;
    ++i;
  }
  return setting;
}

// Options without a value.
const std::vector<std::string>& launcher_flags() {
  static const std::vector<std::string> all{"standalone",
                                            "no_python",
                                            "use_env",
                                            "run_path",
                                            "multi_gpu",
                                            "use_deepspeed",
                                            "use_fsdp",
                                            "cpu",
                                            "tpu",
                                            "no_ssh",
                                            "no_ssh_check",
                                            "force_multi",
                                            "debug",
                                            "quiet",
                                            "no_local_rank",
                                            "bind_cores_to_rank",
                                            "enable_each_rank_log",
                                            "use_megatron_lm",
                                            "allow_run_as_root",
                                            "tag_output",
                                            "label",
                                            "l",
                                            "unbuffered",
                                            "u",
                                            "exclusive",
                                            "overlap",
                                            "verbose",
                                            "v",
                                            "oversubscribe",
                                            "contiguous",
                                            "requeue",
                                            "report_bindings",
                                            "q",
                                            "bind_to_none",
                                            "no_requeue",
                                            "use_xpu",
                                            "use_mps_device",
                                            "gpu",
                                            "dynamo_use_dynamic"};
  return all;
}

// Whether an option has no value: a known flag, or one before the program ("srun --no-container-mount-home bash").
bool is_flag_at(const std::vector<Word>& words, std::size_t i) {
  const bool is_before_program = i + 1 < words.size() && begins_launch_at(words, i + 1);
  return is_before_program || is_among(key_of(words[i].text), launcher_flags());
}

class LineReader {
 public:
  LineReader(const ShellCommand& command, const ShellScript& script) : variables_(variables_of(script, command.shell)) {
    line_.shell = command.shell;
    line_.job = command.job;
    if (!command.assumption.empty()) line_.notes.push_back(command.assumption);
    line_.place = command.place;
    line_.is_conditional = command.is_conditional;
  }

  // Returns whether the command starts a program.
  bool read(const std::vector<Word>& words, std::size_t i, int depth = 0) {
    if (depth > kDeepestLauncher || i >= words.size()) return false;
    const std::string name = last_part_of(words[i].text);
    if (name == "bash" || name == "sh") return read_shell_text(words, i + 1, depth);
    if (is_task_launcher(name)) return read_task_launcher(words, i, depth);
    if (is_process_launcher(name)) return read_process_launcher(words, i + 1, name, depth);
    if (is_python(name)) return read_python(words, i + 1, depth);
    if (ends_with(name, ".py")) return take_program(words, i);
    if (is_among(name, framework_commands()) || begins_swift(words, i)) {
      line_.is_framework = true;
      return take_program(words, i);
    }
    return skip_wrapper(words, i, depth);
  }
  LaunchLine take() { return std::move(line_); }

 private:
  bool take_program(const std::vector<Word>& words, std::size_t i) {
    line_.program = words[i].text;
    line_.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    return true;
  }

  // nsys profile, numactl, singularity exec, uv run, ...: their options do not affect the training.
  bool skip_wrapper(const std::vector<Word>& words, std::size_t i, int depth) {
    static const std::vector<std::string> kOthers{
        "echo", "printf", "cat",   "cp",    "mv",     "rm",    "mkdir",  "ls",  "sed",    "grep",
        "awk",  "pip",    "pip3",  "git",   "which",  "type",  "cd",     "ln",  "wget",   "curl",
        "kill", "sleep",  "tar",   "find",  "set",    "conda", "tee",    "apt", "sbatch", "date",
        "wait", "pwd",    "touch", "chmod", "module", "shopt", "ulimit", "head"};
    if (is_among(last_part_of(words[i].text), kOthers)) return false;
    std::size_t next = i + 1;
    while (next < words.size() && !begins_launch_at(words, next)) ++next;
    if (next == words.size()) return false;
    std::string passed;
    for (std::size_t k = i; k < next; ++k) passed += (k > i ? " " : "") + words[k].text;
    line_.notes.push_back(line_.place.text() + ": ignored before the program: " + beginning_of(passed, 120));
    return read(words, next, depth + 1);
  }

  bool read_shell_text(const std::vector<Word>& words, std::size_t i, int depth) {
    while (i < words.size() && is_option(words[i]) && words[i].text.find('c') == std::string::npos) ++i;
    if (i < words.size() && is_option(words[i]) && i + 1 < words.size()) {
      std::map<std::string, Word> environment = variables_.exported;
      for (const auto& [name, value] : variables_.variables)
        if (name.compare(0, 6, "SLURM_") == 0 && value.size() == 1) environment[name] = value.front();
      const ShellScript inner = read_shell(words[i + 1].text, line_.place.file, {environment, {}, {}});
      for (const ShellCommand& command : inner.commands) {
        std::vector<Word> moved = command.words;
        for (Word& word : moved) word.place = line_.place;
        if (read(moved, 0, depth + 1)) return true;
      }
      return false;
    }
    if (i < words.size())
      line_.notes.push_back(line_.place.text() + ": starts another script, which is not read: " + words[i].text);
    return false;
  }

  bool read_task_launcher(const std::vector<Word>& words, std::size_t i, int depth) {
    const std::string launcher = last_part_of(words[i].text);
    line_.is_task = true;
    const bool has_own = launcher == "srun" || launcher == "jsrun" || launcher == "flux";
    const std::string name = has_own ? launcher + "." : "mpirun.";
    while (launcher == "flux" && i + 1 < words.size() &&
           is_among(words[i + 1].text, {"mini", "run", "submit", "alloc", "batch"}))
      ++i;
    for (++i; i < words.size() && !begins_launch_at(words, i);) {
      // MPI's "-x NAME=VALUE" and "-mca NAME VALUE".
      if (is_option(words[i])) {
        const std::string key = key_of(words[i].text);
        line_.launchers.add(option_setting(words, i, name, is_flag_at(words, i)));
        if (key == "mca" && i < words.size() && !is_option(words[i])) ++i;
        continue;
      }
      line_.notes.push_back(words[i].place.text() + ": ignored before the program: " + words[i].text);
      ++i;
    }
    return read(words, i, depth + 1);
  }

  // `is_module`: "python -m accelerate.commands.launch", which has no further word "launch".
  bool read_process_launcher(const std::vector<Word>& words, std::size_t i, const std::string& name, int depth,
                             bool is_module = false) {
    line_.starts_processes = true;
    const bool has_own = name == "deepspeed" || name == "accelerate" || name == "composer";
    const std::string prefix = has_own ? name + "." : "torchrun.";
    if (name == "accelerate" && !is_module) {
      if (i >= words.size() || words[i].text != "launch") return false;
      ++i;
    }
    while (i < words.size()) {
      if (words[i].text == "-m" || words[i].text == "--module") {
        line_.launchers.add(option_setting(words, i, prefix, true));
        return i < words.size() && take_program(words, i);
      }
      if (is_option(words[i])) {
        line_.launchers.add(option_setting(words, i, prefix, is_flag_at(words, i)));
        continue;
      }
      if (!words[i].unknown.empty() && words[i].text == words[i].unknown) {
        line_.notes.push_back(words[i].place.text() +
                              ": cannot be evaluated, and is ignored before the program: " + words[i].text);
        ++i;
        continue;
      }
      break;
    }
    if (i >= words.size()) return false;
    return begins_launch_at(words, i) && !ends_with(words[i].text, ".py") ? read(words, i, depth + 1)
                                                                          : take_program(words, i);
  }

  bool read_python(const std::vector<Word>& words, std::size_t i, int depth) {
    for (; i < words.size() && is_option(words[i]); ++i) {
      if (words[i].text == "-c") return false;
      if (words[i].text == "-m") {
        if (++i >= words.size()) return false;
        const std::string& module = words[i].text;
        if (module == "accelerate.commands.launch")
          return read_process_launcher(words, i + 1, "accelerate", depth, true);
        return is_process_launcher(module) ? read_process_launcher(words, i + 1, module, depth)
                                           : take_program(words, i);
      }
    }
    return i < words.size() && take_program(words, i);
  }

  const ShellVariables& variables_;
  LaunchLine line_;
};

}  // namespace

std::vector<LaunchLine> launch_lines(const ShellScript& script) {
  std::vector<LaunchLine> lines;
  for (const ShellCommand& command : script.commands) {
    LineReader reader(command, script);
    if (reader.read(command.words, 0)) lines.push_back(reader.take());
  }
  return lines;
}

bool may_launch(const std::vector<Word>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (begins_launch_at(words, i)) return true;
  return false;
}

std::string gpu_item(const std::string& resources, bool names_gpus) {
  const std::vector<std::string> items = parts_of(resources, ',');
  for (const std::string& item : items)
    if (parts_of(item, ':').front() == "gpu") return item.substr(0, item.find('('));
  return names_gpus ? items.front().substr(0, items.front().find('(')) : "";
}

LaunchSettings directive_settings(const std::vector<ShellCommand>& directives) {
  static const std::vector<std::pair<std::string, std::string>> kShort{
      {"sbatch.N", "sbatch.nodes"}, {"sbatch.n", "sbatch.ntasks"}, {"sbatch.G", "sbatch.gpus"}};
  LaunchSettings settings;
  for (const ShellCommand& directive : directives)
    for (std::size_t i = 0; i < directive.words.size();) {
      LaunchSetting setting =
          option_setting(directive.words, i, "sbatch.", is_among(key_of(directive.words[i].text), launcher_flags()));
      // a short option contains its value: "-N4"
      const std::string& written = setting.written;
      if (written.size() > 2 && written[0] == '-' && written[1] != '-') {
        setting.key = "sbatch." + written.substr(1, 1);
        setting.value = written.substr(2);
      }
      for (const auto& [from, to] : kShort)
        if (setting.key == from) setting.key = to;
      setting.written = "#SBATCH " + written;
      settings.add(std::move(setting));
    }
  return settings;
}

LaunchSettings environment_settings(const ShellVariables& script) {
  LaunchSettings settings;
  for (const auto& [name, value] : script.exported) {
    LaunchSetting setting;
    setting.key = "env." + name;
    setting.written = name;
    setting.value = value.text;
    setting.unknown = value.unknown;
    setting.place = value.place;
    settings.add(std::move(setting));
  }
  return settings;
}

std::map<std::string, Word> slurm_environment(const std::vector<ShellCommand>& directives) {
  LaunchSettings settings = directive_settings(directives);
  std::map<std::string, Word> environment;
  const auto give = [&](const std::string& key, const std::vector<std::string>& names) {
    const LaunchSetting* setting = settings.take(key);
    if (setting == nullptr) return;
    const std::string text = plain_text(setting->value);
    const bool is_number = is_count(text);  // not "2-4"
    for (const std::string& name : names)
      environment[name] = is_number ? Word{text, "", setting->place} : Word{"$" + name, "$" + name, setting->place};
  };
  if (!directives.empty()) {
    environment["SLURM_SUBMIT_DIR"] = {".", "", directives.front().place};
    for (const std::string name : {"SLURM_JOB_ID", "SLURM_JOBID"})
      environment[name] = {"$" + name, "$" + name, directives.front().place};
  }
  give("sbatch.nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  give("sbatch.ntasks", {"SLURM_NTASKS", "SLURM_NPROCS"});
  give("sbatch.ntasks_per_node", {"SLURM_NTASKS_PER_NODE"});
  for (const char* key : {"sbatch.gpus_per_node", "sbatch.gres"})
    if (const LaunchSetting* setting = settings.take(key)) {
      const std::string text = plain_text(setting->value);
      const std::string item = gpu_item(text, std::string(key) == "sbatch.gpus_per_node");
      if (item.empty()) continue;
      const std::string last = last_part_of(item, ':'), count = is_count(last) ? last : "1";
      environment["SLURM_GPUS_ON_NODE"] = {count, "", setting->place};
      if (std::string(key) == "sbatch.gpus_per_node") environment["SLURM_GPUS_PER_NODE"] = {text, "", setting->place};
    }
  return environment;
}

namespace {

// "$EXTRA" after a value may contain options.
bool is_open(const Word& word) {
  return !word.unknown.empty() && word.unknown == word.text;
}

// Whether the option has exactly one value. In "--config full.yaml batch_size=4", the second word overrides the batch.
bool takes_one_value(const std::string& key) {
  return is_among(key, {"config", "config_file", "config_name", "config_path", "recipe", "factory", "d", "conf_dir",
                        "nproc_per_node", "nnodes"});
}

// "model.seq_length=8192" is a setting of its own, not another value of the option before it.
bool is_dotted_assignment(const Word& word) {
  const std::size_t equals = word.text.find('=');
  const std::string name = word.text.substr(0, equals);
  return equals != std::string::npos && name.find('.') != std::string::npos &&
         name.find_first_of("/ ,:{}[]\"'") == std::string::npos;
}

}  // namespace

LaunchSettings argument_settings(const std::vector<Word>& arguments, const std::vector<std::string>& flags) {
  LaunchSettings settings;
  for (std::size_t i = 0; i < arguments.size();) {
    const Word& word = arguments[i];
    if (is_option(word)) {
      const std::size_t equals = word.text.find('=');
      const bool is_flag = is_among(key_of(word.text.substr(0, equals)), flags);
      const bool is_file = key_of(word.text) == "deepspeed" && i + 1 < arguments.size() &&
                           lower_case(arguments[i + 1].text).find("config") != std::string::npos;
      const bool has_next = i + 1 < arguments.size() && !is_file;
      const bool next_is_lost =
          has_next && ((is_flag && !arguments[i + 1].unknown.empty()) || is_dotted_assignment(arguments[i + 1]));
      LaunchSetting setting = option_setting(arguments, i, "", next_is_lost);
      // Adds further values of the same option.
      while (equals == std::string::npos && !next_is_lost && !takes_one_value(setting.key) &&
             !setting.value.is_null() && i < arguments.size() && !is_option(arguments[i]) &&
             !is_dotted_assignment(arguments[i]) && !is_open(arguments[i])) {
        setting.value = setting.value.get<std::string>() + " " + arguments[i].text;
        if (setting.unknown.empty()) setting.unknown = arguments[i].unknown;
        ++i;
      }
      settings.add(std::move(setting));
      continue;
    }
    LaunchSetting setting;
    const std::size_t equals = word.text.find('=');
    const bool is_assignment = equals != std::string::npos && equals > 0;
    setting.key = is_assignment ? word.text.substr(0, equals) : "argument";
    setting.key.erase(0, setting.key.find_first_not_of("+~"));
    setting.written = is_assignment ? word.text.substr(0, equals) : word.text;
    if (is_assignment)
      setting.value = word.text.substr(equals + 1);
    else
      setting.value = word.text;
    setting.unknown = word.unknown;
    setting.place = word.place;
    settings.add(std::move(setting));
    ++i;
  }
  return settings;
}

}  // namespace lockstep::sim::launch
