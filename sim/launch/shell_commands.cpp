#include <algorithm>
#include <memory>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/launch_line.hpp"
#include "sim/launch/shell_interpreter.hpp"
#include "sim/launch/shell_tests.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestCall = 64;

// Commands that ask about the machine: whether they succeed is not known.
bool is_query(const std::string& name) {
  for (const char* query :
       {"grep", "egrep",      "fgrep",    "which", "type",     "hash",   "cmp",  "diff",     "pgrep", "nc",
        "ping", "nvidia-smi", "rocm-smi", "ls",    "scontrol", "getent", "stat", "hostname", "lsmod", "lspci"})
    if (name == query) return true;
  return false;
}

// Commands whose success is a matter of course.
bool is_action(const std::string& name) {
  for (const char* action :
       {"cd",       "mkdir",  "pip",     "pip3",  "module", "conda",     "echo",      "printf", "cat",   "cp",
        "mv",       "rm",     "ln",      "chmod", "touch",  "sleep",     "date",      "set",    "shopt", "ulimit",
        "pushd",    "popd",   "trap",    "wait",  "git",    "sed",       "tee",       "umask",  "alias", "unalias",
        "torchrun", "python", "python3", "srun",  "mpirun", "deepspeed", "accelerate"})
    if (name == action) return true;
  return false;
}

}  // namespace

std::optional<bool> Interpreter::run_test(bool) {
  const int line = peek().line;
  std::vector<std::string> words;
  for (++at_; !is_word("]]"); ++at_) {
    if (peek().kind == Token::Kind::end) fail(line, "a test without \"]]\"");
    if (peek().text != "\n") words.push_back(peek().text);
  }
  ++at_;
  if (skipping_ > 0) return std::nullopt;
  const std::optional<bool> value = value_of_test(words, variables_, {name_, line}, true);
  is_undecided_ = !value;
  return value;
}

std::optional<bool> Interpreter::run_named_function(bool is_sure) {
  ++at_;
  return define_function(is_sure);
}

std::optional<bool> Interpreter::run_arithmetic(bool is_sure) {
  const Token token = peek();
  ++at_;
  const std::optional<bool> value = run_expression(token.text.substr(2, token.text.size() - 4), token.line, is_sure);
  is_undecided_ = !value;
  return value;
}

std::optional<bool> Interpreter::run_expression(const std::string& text, int line, bool is_sure) {
  if (skipping_ > 0) return std::nullopt;
  variables_.is_sure = is_sure;
  const auto value = evaluate(text, variables_, {name_, line});
  return value ? std::optional<bool>(*value != 0) : std::nullopt;
}

// Stores the body, which runs at each call.
std::optional<bool> Interpreter::define_function(bool is_sure) {
  const std::string function = peek().text;
  const int line = peek().line;
  ++at_;
  if (is_op("(") && (*tokens_)[at_ + 1].text == ")") at_ += 2;
  skip_newlines();
  const std::size_t begin = at_;
  ++skipping_;
  run_command(false);
  --skipping_;
  if (at_ == begin) fail(line, "a function without a body");
  if (skipping_ > 0) return true;
  std::vector<Token> body = body_of_function(*tokens_, begin, at_);
  const auto former = functions_.find(function);
  if (is_sure) unsure_functions_.erase(function);
  if (!is_sure && former != functions_.end()) {  // either body may run
    unsure_functions_.insert(function);
    body.insert(body.begin(), former->second->begin(), former->second->end() - 1);
    variables_.charge(body.size() * sizeof(Token), {name_, line});
  }
  functions_[function] = std::make_shared<const std::vector<Token>>(std::move(body));
  return true;
}

void Interpreter::skip_redirections() {
  while (take_redirection()) {
  }
}

bool Interpreter::take_redirection() {
  static const std::vector<std::string> kOps{"<", ">", ">>", "<<", "<<-", "<<<", "&>", "&>>", ">&", "<&"};
  if (peek().kind != Token::Kind::op || std::find(kOps.begin(), kOps.end(), peek().text) == kOps.end()) return false;
  const std::string op = peek().text, descriptor = peek().body;
  ++at_;
  if (peek().kind != Token::Kind::word) return true;
  if (op == "<<" || op == "<<-") body_ = &peek();
  if (op == "<<<" && skipping_ == 0) here_string_ = expand_to_one(peek().text, variables_, {name_, peek().line});
  if (op == "<" && descriptor.empty()) source_ = peek().text;
  const bool is_output = descriptor.empty() || descriptor == "1";
  const bool is_number = peek().text.find_first_not_of("0123456789") == std::string::npos;
  const std::string& file = peek().text;
  if (op == "&>" || op == "&>>" || (is_output && (op == ">" || op == ">>" || (op == ">&" && !is_number)))) {
    writes_errors_ = file == "/dev/stderr" || file == "/dev/fd/2" || file == "-";
    target_ = writes_errors_ || file == "/dev/stdout" || file == "/dev/fd/1" ? "" : file;
    appends_ = op == ">>" || op == "&>>";
  }
  if (op == ">&" && is_output && file == "2") writes_errors_ = true;
  ++at_;
  return true;
}

void Interpreter::reset_redirections() {
  body_ = nullptr;
  here_string_.reset();
  source_.clear();
  target_.clear();
  appends_ = writes_errors_ = false;
}

std::optional<bool> Interpreter::run_redirected(const std::function<std::optional<bool>()>& run,
                                                bool parses_redirections, bool is_sure) {
  std::optional<Word>* const outer = captured_;
  std::optional<Word> own = Word{"", "", {name_, peek().line}};
  if (outer != nullptr) captured_ = &own;
  const std::string target = target_;
  const bool appends = appends_, writes_errors = writes_errors_;
  const std::optional<bool> status = run();
  captured_ = outer;
  if (parses_redirections && jump_ == Jump::none) {
    reset_redirections();
    skip_redirections();
  } else if (parses_redirections) {
    reset_redirections();
  } else {
    target_ = target;
    appends_ = appends;
    writes_errors_ = writes_errors;
  }
  if (outer == nullptr || skipping_ > 0) return status;
  write_target(own, is_sure);
  if (redirects_output() || !*outer) return status;
  if (!own) {
    outer->reset();
    return status;
  }
  (*outer)->text += own->text;
  (*outer)->add_unknown(own->unknown);
  return status;
}

std::optional<bool> Interpreter::run_simple(bool is_sure) {
  RawWords raw;
  reset_redirections();
  is_undecided_ = false;
  last_program_.clear();
  while (peek().kind == Token::Kind::word || take_redirection()) {
    if (peek().kind != Token::Kind::word) continue;
    raw.emplace_back(peek().text, peek().line);
    ++at_;
  }
  if (skipping_ > 0) return std::nullopt;
  if (raw.empty() && is_substitution_ && !source_.empty()) append_output(input_of_command(), is_sure);  // "$(<file)"
  if (raw.empty()) {
    write_target(Word{"", "", {name_, peek().line}}, is_sure);
    return std::nullopt;
  }
  variables_.is_sure = is_sure;
  std::size_t first = 0;
  while (first < raw.size() && assignment_of(raw[first].first)) ++first;
  if (first < raw.size() && (raw[first].first == "[" || raw[first].first == "test")) {
    const std::optional<bool> value = run_bracket(raw, first, raw[first].second);
    is_undecided_ = !value;
    return value;
  }
  if (first > 0 && first < raw.size()) return run_with_environment(raw, first, is_sure);
  for (std::size_t i = 0; i < first; ++i) assign(*assignment_of(raw[i].first), raw[i].second, is_sure);
  if (first == raw.size()) return true;
  ShellCommand command = words_of_command(raw, first, is_sure);
  return command.words.empty() ? true : execute(std::move(command), is_sure);
}

// "A=1 command": the variable is in the command's environment only. The command's words see the former value.
std::optional<bool> Interpreter::run_with_environment(const RawWords& raw, std::size_t first, bool is_sure) {
  ShellCommand command = words_of_command(raw, first, is_sure);
  std::map<std::string, std::optional<Value>> outer;
  const std::set<std::string> exported = variables_.exported;
  for (std::size_t i = 0; i < first; ++i) {
    const Assignment assignment = *assignment_of(raw[i].first);
    const Value* const before = variables_.find(assignment.name);
    outer.emplace(assignment.name, before == nullptr ? std::nullopt : std::optional<Value>(*before));
    assign(assignment, raw[i].second, is_sure);
    variables_.exported.insert(assignment.name);
  }
  const std::size_t commands = script_.commands.size();
  const std::optional<bool> status = command.words.empty() ? true : execute(std::move(command), is_sure);
  attach_variables(commands);
  variables_.exported = exported;
  for (const auto& [name, value] : outer)
    if (value)
      variables_.values[name] = *value;
    else
      variables_.values.erase(name);
  return status;
}

ShellCommand Interpreter::words_of_command(const RawWords& raw, std::size_t first, bool is_sure) {
  ShellCommand command{{}, {name_, raw[first].second}, !is_sure, assumption_};
  for (std::size_t i = first; i < raw.size(); ++i) {
    const bool is_process = raw[i].first.compare(0, 2, "<(") == 0 || raw[i].first.compare(0, 2, ">(") == 0;
    if (is_process) {
      command.words.push_back({raw[i].first, raw[i].first, {name_, raw[i].second}});
      continue;
    }
    const bool declares = i > first && is_declaration(raw[first].first);
    if (declares && assignment_of(raw[i].first)) {
      if (is_local(raw, first)) keep_outer(assignment_of(raw[i].first)->name);
      assign(*assignment_of(raw[i].first), raw[i].second, is_sure);
      command.words.push_back({assignment_of(raw[i].first)->name, "", {name_, raw[i].second}});
      continue;
    }
    if (is_all_arguments(raw[i].first) && variables_.find("@") == nullptr)
      note(raw[i].second, "arguments of the script (" + raw[i].first + ") are not known; none are read");
    for (Word& word : expand(raw[i].first, variables_, {name_, raw[i].second}))
      command.words.push_back(declares ? declare(std::move(word), is_local(raw, first), is_sure) : std::move(word));
  }
  return command;
}

std::optional<bool> Interpreter::execute(ShellCommand command, bool is_sure) {
  const std::string name = command.words.front().text;
  if (name == "read" || name == "mapfile" || name == "readarray") {
    const bool shares_input = body_ == nullptr && !here_string_ && source_.empty();
    const std::optional<Word> text = input_of_command();
    if (!text || !is_sure) {
      forget_read_words(command);
      is_undecided_ = true;
      return std::nullopt;
    }
    const bool is_at_end = name == "read" && shares_input && text->text.empty() && text->unknown.empty();
    const std::size_t taken = read_words(command, *text);
    if (shares_input) input_->text.erase(0, taken);
    return !is_at_end;
  }
  if (name == "let") {
    for (std::size_t i = 1; i < command.words.size(); ++i)
      run_expression(command.words[i].text, command.place.line, is_sure);
    return true;
  }
  if (name == "cd" || name == "pushd" || name == "popd") change_folder(command, is_sure);
  if (const auto done = run_builtin(command, is_sure)) return done->succeeds;
  if (run_jump(command, is_sure)) return true;
  if ((name == "exec" || name == "command" || name == "time") && command.words.size() > 1) {
    command.words.erase(command.words.begin());
    const bool is_query = name == "command" && command.words.front().text.compare(0, 1, "-") == 0;
    if (is_query) is_undecided_ = true;
    if (is_query) return std::nullopt;
    const std::optional<bool> status = execute(std::move(command), is_sure);
    if (name == "exec" && is_sure && jump_ == Jump::none) jump_ = Jump::ends_shell;
    return status;
  }
  const auto function = functions_.find(name);
  if (function == functions_.end())
    if (const StartedScript script = started_script(command); script.path < command.words.size())
      if (const auto status = run_file(command, script, is_sure)) return status;
  if (name == "source" || name == ".") {
    note(command.place.line,
         "the sourced file is not there; variables that it sets are not known: " + command.words.back().text);
    return std::nullopt;
  }
  if (function != functions_.end()) {
    const auto body = function->second;
    const bool is_certain = is_sure && unsure_functions_.count(name) == 0;
    const auto call = [&] { return run_function(command, *body, is_certain); };
    return captured_ != nullptr && redirects_output() ? run_redirected(call, false, is_sure) : call();
  }
  if (name == "eval") {
    run_text(text_of_words(command, 1), command.place.line, is_sure);
    return std::nullopt;
  }
  if ((name == "sbatch" || name == "bash" || name == "sh") && body_ != nullptr) return run_body(command, is_sure);
  if (run_remote(command, is_sure) || run_shell_text(command, is_sure)) return std::nullopt;
  return run_program(std::move(command), is_sure);
}

std::optional<bool> Interpreter::run_program(ShellCommand command, bool is_sure) {
  const std::string name = command.words.front().text;
  is_undecided_ = is_query(name);
  if (!is_action(name)) last_program_ = name;
  if (name == "sed" || (name == "cat" && body_ == nullptr && source_.empty() && command.words.size() > 1)) {
    output_ = edit_text(command, input_of_command(), target_.compare(0, 5, "/dev/") == 0 ? "" : target_, appends_);
    if (redirects_output()) output_.reset();
    if (!output_ && captured_ != nullptr && !redirects_output()) captured_->reset();
    return std::nullopt;
  }
  const bool is_tee = name == "tee";
  const bool has_copied = run_file_command(command, is_tee ? input_of_command() : std::nullopt, output_);
  if (!target_.empty())
    write_target(is_tee ? output_ : output_of(command, input_of_command()), is_sure);
  else if (captured_ != nullptr && !has_copied && !redirects_output())
    write_output(command, is_sure);
  else if (captured_ != nullptr && is_tee && !output_)
    captured_->reset();
  if (is_tee && redirects_output()) output_.reset();
  if (is_substitution_) return std::nullopt;
  const bool is_launch = may_launch(command.words);
  script_.commands.push_back(std::move(command));
  if (is_launch) attach_variables(script_.commands.size() - 1);  // later commands may change them
  return std::nullopt;
}

void Interpreter::write_target(std::optional<Word> text, bool is_sure) {
  if (target_.empty() || target_.compare(0, 2, ">(") == 0) return;
  const Word path = expand_to_one(target_, variables_, {name_, peek().line});
  if (path.text.compare(0, 5, "/dev/") == 0) return;
  if (!text) text = Word{"", "the output of a program", path.place};
  write_text(path.text, std::move(*text), appends_, !is_sure);
}

bool Interpreter::run_jump(const ShellCommand& command, bool is_sure) {
  const std::string& name = command.words.front().text;
  Jump jump = Jump::none;
  if (name == "exit") jump = ends_script(command, conditions_ > 0) ? Jump::ends_shell : Jump::none;
  if (name == "return") jump = Jump::returns;
  if ((name == "break" || name == "continue") && loops_ > 0)
    jump = name == "break" ? Jump::ends_loop : Jump::ends_round;
  const std::string levels = command.words.size() > 1 ? command.words[1].text : "1";
  if (is_sure && skipping_ == 0 && jump != Jump::none) {
    jump_ = jump;
    left_loops_ = is_count(levels, 3) ? std::clamp(std::stoi(levels), 1, std::max(1, loops_)) : 1;
  }
  return name == "exit" || name == "return" || name == "break" || name == "continue";
}

std::optional<bool> Interpreter::run_function(const ShellCommand& command, const std::vector<Token>& body,
                                              bool is_sure) {
  if (++depth_ > kDeepestCall) fail(command.place.line, "functions call each other without end");
  const Arguments outer = set_arguments(command, 1);
  const int loops = std::exchange(loops_, 0);
  outer_values_.emplace_back();
  run_tokens(body, is_sure);
  restore_outer();
  if (jump_ == Jump::returns) jump_ = Jump::none;
  loops_ = loops;
  restore_arguments(outer);
  --depth_;
  return std::nullopt;
}

std::optional<Word> Interpreter::input_of_command() {
  if (here_string_) {
    Word text = *here_string_;
    text.text += '\n';
    return text;
  }
  if (source_.compare(0, 2, "<(") == 0)
    return capture(source_.substr(2, source_.size() - 3), {name_, peek().line}, false);
  if (!source_.empty()) {
    const Word path = expand_to_one(source_, variables_, {name_, peek().line});
    return path.unknown.empty() ? file_text(path) : std::nullopt;
  }
  if (body_ == nullptr) return input_;
  const Place place{name_, body_->line + 1};
  return body_->is_literal ? Word{body_->body, "", place} : expand_body(body_->body, variables_, place);
}

std::optional<Word> Interpreter::take_output(std::size_t captured_before) {
  if (output_) return std::exchange(output_, std::nullopt);
  if (captured_ == nullptr || !*captured_) return std::nullopt;
  Word& all = **captured_;
  Word last{all.text.substr(std::min(captured_before, all.text.size())), all.unknown, all.place};
  all.text.resize(std::min(captured_before, all.text.size()));
  return last;
}

void Interpreter::write_output(const ShellCommand& command, bool is_sure) {
  if (!*captured_) return;
  const bool is_folder = command.words.front().text == "pwd";
  append_output(
      is_folder ? Word{folder_.empty() ? "." : folder_, "", command.place} : output_of(command, input_of_command()),
      is_sure);
}

void Interpreter::append_output(const std::optional<Word>& text, bool is_sure) {
  if (captured_ == nullptr || !*captured_) return;
  if (!text || !is_sure) return captured_->reset();
  constexpr std::size_t kLongestOutput = 1 << 20;
  if ((*captured_)->text.size() + text->text.size() > kLongestOutput) return captured_->reset();
  (*captured_)->text += text->text;
  (*captured_)->add_unknown(text->unknown);
}

}  // namespace lockstep::sim::launch
