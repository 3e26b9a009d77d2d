// Shells that a script starts: other scripts, "(...)", "$(...)", here-documents for bash, and texts for ssh.
#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/launch_line.hpp"
#include "sim/launch/shell_interpreter.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// Whether a part of the text, other than a variable or a command's output, is unknown. Those stay as written.
bool has_unknown_text(const Word& text) {
  std::size_t begin = 0;
  while (begin < text.unknown.size()) {
    if (text.unknown[begin] != '$' && text.unknown[begin] != '`') return true;
    begin = std::min(text.unknown.find('\n', begin), text.unknown.size() - 1) + 1;
  }
  return false;
}

// "torchrun train.py" in "sbatch --nodes=2 --wrap 'torchrun train.py'".
std::optional<std::string> wrapped_text(const ShellCommand& command) {
  const std::string option = "--wrap";
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    if (word == option && i + 1 < command.words.size()) return command.words[i + 1].text;
    if (word.compare(0, option.size() + 1, option + "=") == 0) return word.substr(option.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

void Interpreter::attach_variables(std::size_t first) {
  constexpr std::size_t kMostBytes = 64 << 20;
  std::shared_ptr<const ShellVariables> own;
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    ShellCommand& command = script_.commands[i];
    if (command.shell) continue;
    if (!own) {
      own = std::make_shared<const ShellVariables>(variables_now());
      for (const auto& [name, value] : own->variables)
        for (const Word& word : value) attached_bytes_ += sizeof(Word) + word.text.size() + word.unknown.size();
      if (attached_bytes_ > kMostBytes) fail(command.place.line, "commands have more than 64 MiB of variables");
    }
    command.shell = own;
  }
}

void Interpreter::run_job(const ShellCommand& command, const std::string& text, std::size_t end,
                          const std::function<void()>& run) {
  std::vector<ShellCommand> directives = read_directives(text, name_);
  directives.push_back(submission_of(command, end));
  if (captured_ != nullptr && !redirects_output()) captured_->reset();  // the number of the job
  const std::size_t first = script_.commands.size();
  ++jobs_;
  const bool is_substitution = std::exchange(is_substitution_, false);
  run_shell(command.place.line, Inherits::environment, [&] {
    assign_environment(command, end);
    for (const auto& [name, value] : slurm_environment(directives)) variables_.values[name] = {value};
    run();
  });
  --jobs_;
  is_substitution_ = is_substitution;
  const auto job = std::make_shared<const std::vector<ShellCommand>>(std::move(directives));
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    if (!script_.commands[i].job) script_.commands[i].job = job;
}

void Interpreter::run_shell(int line, Inherits inherits, const std::function<void()>& run) {
  constexpr int kMostShells = 4000;
  if (++shells_ > kMostShells) fail(line, "more than 4,000 scripts and subshells are started");
  Variables::Values values = variables_.values;
  Variables::Tables tables = variables_.tables;
  const std::set<std::string> exported = variables_.exported;
  const bool exports_all = variables_.exports_all;
  const Functions functions = functions_;
  const std::string folder = folder_;
  const Jump jump = std::exchange(jump_, Jump::none);
  const int conditions = conditions_, loops = std::exchange(loops_, 0);
  if (inherits == Inherits::environment) {
    keep_environment();
    functions_.clear();
    conditions_ = 0;
  }
  const std::size_t first = script_.commands.size();
  run();
  attach_variables(first);
  variables_.values.swap(values);
  variables_.tables.swap(tables);
  variables_.exported = exported;
  variables_.exports_all = exports_all;
  functions_ = functions;
  folder_ = folder;
  jump_ = jump;
  conditions_ = conditions;
  loops_ = loops;
}

// Follows a script that this one sources or starts. The launcher before it ("srun -N 2") starts the script's commands.
// nullopt: the script cannot be read.
std::optional<bool> Interpreter::run_file(const ShellCommand& command, const StartedScript& script, bool is_sure) {
  const std::string path = command.words[script.path].text;
  const std::optional<Word> text = file_text(command.words[script.path]);
  if (!text || has_unknown_text(*text)) {
    if (command.words.front().text != "source" && command.words.front().text != ".")
      script_.missing_scripts.push_back(path + " (line " + std::to_string(command.place.line) + ")");
    return std::nullopt;
  }
  const std::string plain = path.compare(0, 2, "./") == 0 ? path.substr(2) : path;
  const bool is_job = last_part_of(command.words.front().text) == "sbatch";
  if (is_job && jobs_ > 0 && std::find(followed_.begin(), followed_.end(), plain) != followed_.end()) {
    note(command.place.line, path + " submits itself again, which is not followed");
    return true;
  }
  constexpr int kMostRepeats = 8;
  if (std::count(followed_.begin(), followed_.end(), plain) >= kMostRepeats) {
    name_.resize(std::min(name_.size(), name_.find(": " + path)));  // the place where it begins
    fail(command.place.line, path + " reads or starts itself without end");
  }
  followed_.push_back(plain);
  note(command.place.line, path + " is read");
  const std::string outer_name = std::exchange(name_, name_ + ": " + path);
  const std::size_t first = script_.commands.size();
  const std::string& name = command.words.front().text;
  const bool is_sourced = name == "source" || name == ".";
  const auto run = [&] {
    const bool has_own = script.path + 1 < command.words.size() || !is_sourced;
    const Arguments outer = has_own ? set_arguments(command, script.path + 1) : Arguments();
    const Value source = variables_.values["BASH_SOURCE"];
    variables_.values["BASH_SOURCE"] = {{path, "", command.place}};
    run_text(text->text, 1, is_sure);
    variables_.values["BASH_SOURCE"] = source;
    if (has_own) restore_arguments(outer);
  };
  if (is_sourced) {
    run();
    if (jump_ == Jump::returns) jump_ = Jump::none;
  } else {
    const auto run_script = [&] {
      variables_.values["0"] = {{path, "", command.place}};
      variables_.values["PWD"] = {{folder_.empty() ? "." : folder_, "", command.place}};
      run();
    };
    if (is_job)
      run_job(command, text->text, script.path, run_script);
    else
      run_shell(command.place.line, Inherits::environment, [&] {
        assign_environment(command, script.path);
        run_script();
      });
  }
  followed_.pop_back();
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    std::vector<Word>& words = script_.commands[i].words;
    for (std::size_t k = 0; k < script.launcher_end; ++k)
      variables_.charge(sizeof(Word) + command.words[k].text.size(), command.place);
    words.insert(words.begin(), command.words.begin(),
                 command.words.begin() + static_cast<std::ptrdiff_t>(script.launcher_end));
  }
  name_ = outer_name;
  return true;
}

// Follows the script in a here-document: sbatch <<EOF.
std::optional<bool> Interpreter::run_body(const ShellCommand& command, bool is_sure) {
  const int line = body_->line + 1;
  const std::string text = body_->is_literal ? body_->body : expand_body(body_->body, variables_, {name_, line}).text;
  const auto run = [&] { run_text(text, line, is_sure); };
  if (command.words.front().text == "sbatch")
    run_job(command, text, command.words.size(), run);
  else
    run_shell(line, Inherits::environment, [&] {
      assign_environment(command, command.words.size());
      run();
    });
  return std::nullopt;
}

bool Interpreter::run_remote(const ShellCommand& command, bool is_sure) {
  const std::string& name = command.words.front().text;
  if (name == "sbatch") {
    const auto wrapped = wrapped_text(command);
    if (!wrapped) return false;
    run_job(command, "", command.words.size(), [&] { run_text(*wrapped, command.place.line, is_sure); });
    return true;
  }
  if (name != "ssh" && name != "pdsh") return false;
  std::size_t first = 1;
  while (first < command.words.size() && command.words[first].text.compare(0, 1, "-") == 0)
    first += std::string("-i-p-o-l-F-J-w-f-u").find(command.words[first].text) != std::string::npos ? 2 : 1;
  if (name == "ssh") ++first;  // the host
  if (first >= command.words.size()) return true;
  run_shell(command.place.line, Inherits::environment,
            [&] { run_text(text_of_words(command, first), command.place.line, is_sure); });
  return true;
}

bool Interpreter::run_shell_text(const ShellCommand& command, bool is_sure) {
  const std::vector<Word>& words = command.words;
  std::size_t shell = 0;
  while (shell < words.size() && words[shell].text != "bash" && words[shell].text != "sh") ++shell;
  const bool has_text = shell + 2 < words.size() && words[shell + 1].text.compare(0, 1, "-") == 0 &&
                        words[shell + 1].text.find('c') != std::string::npos;
  if (!has_text || words[shell + 2].text.find(".sh") == std::string::npos) return false;
  const std::size_t first = script_.commands.size();
  run_shell(command.place.line, Inherits::environment, [&] {
    assign_environment(command, shell);
    run_text(words[shell + 2].text, command.place.line, is_sure);
  });
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    for (std::size_t k = 0; k < shell; ++k) variables_.charge(sizeof(Word) + words[k].text.size(), command.place);
    script_.commands[i].words.insert(script_.commands[i].words.begin(), words.begin(),
                                     words.begin() + static_cast<std::ptrdiff_t>(shell));
  }
  return true;
}

std::optional<Word> Interpreter::capture(const std::string& text, const Place& place, bool strips) {
  constexpr int kMostCaptures = 2000, kDeepestCapture = 8;
  if (++captures_ > kMostCaptures || capture_depth_ >= kDeepestCapture) return std::nullopt;
  const std::string name = name_;
  const auto saved =
      std::make_tuple(tokens_, at_, body_, depth_, skipping_, conditions_, jump_, captured_, loops_, is_substitution_);
  const auto streams = std::make_tuple(here_string_, source_, target_, appends_, writes_errors_, input_, output_,
                                       is_undecided_, assumption_, last_program_);
  const std::size_t commands = script_.commands.size(), outer_values_size = outer_values_.size();
  const std::size_t followed_size = followed_.size();
  const int jobs = jobs_;
  const bool is_sure = variables_.is_sure;
  // The original map stays as it is, because values in it are being expanded.
  Variables::Values outer = variables_.values;
  Variables::Tables outer_tables = variables_.tables;
  const std::set<std::string> exported = variables_.exported;
  const bool exports_all = variables_.exports_all;
  const Functions functions = functions_;
  const std::string folder = folder_;
  outer.swap(variables_.values);
  std::optional<Word> captured = Word{"", "", place};
  captured_ = &captured;
  is_substitution_ = true;
  input_.reset();
  skipping_ = conditions_ = loops_ = 0;
  jump_ = Jump::none;
  ++capture_depth_;
  try {
    run_text(text, std::max(1, place.line), true);
  } catch (const InputError&) {
    captured.reset();
  }
  --capture_depth_;
  outer.swap(variables_.values);
  variables_.tables = std::move(outer_tables);
  variables_.exported = exported;
  variables_.exports_all = exports_all;
  functions_ = functions;
  folder_ = folder;
  const auto begin = script_.commands.begin() + static_cast<std::ptrdiff_t>(commands);
  script_.commands.erase(
      std::remove_if(begin, script_.commands.end(), [](const auto& command) { return !command.job; }),
      script_.commands.end());  // jobs stay: id=$(sbatch x.sh)
  outer_values_.resize(outer_values_size);
  followed_.resize(followed_size);
  jobs_ = jobs;
  std::tie(tokens_, at_, body_, depth_, skipping_, conditions_, jump_, captured_, loops_, is_substitution_) = saved;
  std::tie(here_string_, source_, target_, appends_, writes_errors_, input_, output_, is_undecided_, assumption_,
           last_program_) = streams;
  name_ = name;
  variables_.is_sure = is_sure;
  if (!captured) return std::nullopt;
  while (strips && !captured->text.empty() && captured->text.back() == '\n') captured->text.pop_back();
  return captured;
}

}  // namespace lockstep::sim::launch
