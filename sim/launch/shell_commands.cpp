#include <algorithm>
#include <tuple>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_interpreter.hpp"
#include "sim/launch/shell_tests.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestCall = 64;

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

std::optional<bool> Interpreter::run_test() {
  const int line = peek().line;
  std::vector<std::string> words;
  for (++at_; !is_word("]]"); ++at_) {
    if (peek().kind == Token::Kind::end) fail(line, "a test without \"]]\"");
    if (peek().text != "\n") words.push_back(peek().text);
  }
  ++at_;
  return skipping_ > 0 ? std::nullopt : value_of_test(words, variables_, {name_, line});
}

std::optional<bool> Interpreter::run_arithmetic(bool is_sure) {
  const Token token = peek();
  ++at_;
  skip_redirections();
  return run_expression(token.text.substr(2, token.text.size() - 4), token.line, is_sure);
}

std::optional<bool> Interpreter::run_expression(const std::string& text, int line, bool is_sure) {
  std::optional<bool> status = true;
  for (const std::string& part : parts_of_expression(text)) {
    if (const auto assignment = arithmetic_assignment_of(part)) {
      if (skipping_ == 0) assign(*assignment, line, is_sure);
      status = true;
      continue;
    }
    const auto value = skipping_ == 0 ? evaluate(part, variables_, {name_, line}) : std::nullopt;
    if (value)
      status = *value != 0;
    else
      status.reset();
  }
  return status;
}

// Stores the body, which runs at each call.
std::optional<bool> Interpreter::define_function() {
  const std::string function = peek().text;
  const int line = peek().line;
  ++at_;
  while (is_op("(") || is_op(")")) ++at_;
  skip_newlines();
  const std::size_t begin = at_;
  ++skipping_;
  run_command(false);
  --skipping_;
  if (at_ == begin) fail(line, "a function without a body");
  if (skipping_ == 0) functions_[function] = body_of_function(*tokens_, begin, at_);
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
  const bool is_output = descriptor.empty() || descriptor == "1";
  if ((op == ">" || op == ">>") && is_output) target_ = peek().text;
  if (op == ">>" && is_output) appends_ = true;
  if (op == ">&" && is_output && peek().text == "2") writes_errors_ = true;
  ++at_;
  return true;
}

std::optional<bool> Interpreter::run_simple(bool is_sure) {
  const int line = peek().line;
  std::vector<std::pair<std::string, int>> raw;
  body_ = nullptr;
  here_string_.reset();
  target_.clear();
  appends_ = writes_errors_ = false;
  while (peek().kind == Token::Kind::word || take_redirection()) {
    if (peek().kind != Token::Kind::word) continue;
    raw.emplace_back(peek().text, peek().line);
    ++at_;
  }
  if (skipping_ > 0 || raw.empty()) return std::nullopt;
  std::size_t first = 0;
  while (first < raw.size() && assignment_of(raw[first].first)) ++first;
  for (std::size_t i = 0; i < first; ++i) assign(*assignment_of(raw[i].first), raw[i].second, is_sure);
  if (first == raw.size()) return true;
  if (raw[first].first == "[" || raw[first].first == "test") return run_bracket(raw, first, line);
  ShellCommand command{{}, {name_, line}, !is_sure};
  for (std::size_t i = first; i < raw.size(); ++i) {
    const bool declares = i > first && is_declaration(raw[first].first) && assignment_of(raw[i].first);
    if (declares) {
      assign(*assignment_of(raw[i].first), raw[i].second, is_sure);
      command.words.push_back({assignment_of(raw[i].first)->name, "", {name_, raw[i].second}});
      continue;
    }
    if (is_all_arguments(raw[i].first) && variables_.find("@") == nullptr)
      note(raw[i].second, "arguments of the script (" + raw[i].first + ") are not known; none are read");
    for (Word& word : expand(raw[i].first, variables_, {name_, raw[i].second}))
      command.words.push_back(std::move(word));
  }
  if (command.words.empty()) return true;
  const bool has_separators = first > 0 && assignment_of(raw[0].first)->name == "IFS";
  const std::optional<bool> status = execute(std::move(command), is_sure);
  if (has_separators) variables_.values.erase("IFS");  // "IFS=, read" sets it for this command only
  return status;
}

std::optional<bool> Interpreter::execute(ShellCommand command, bool is_sure) {
  const std::string name = command.words.front().text;
  if (name == "read") {
    const std::optional<Word> text = body_ != nullptr || here_string_ ? input_of_command() : std::nullopt;
    if (text && is_sure)
      read_words(command, *text);
    else
      forget_read_words(command);
    return text ? std::optional<bool>(true) : std::nullopt;
  }
  if (name == "let") {
    for (std::size_t i = 1; i < command.words.size(); ++i)
      run_expression(command.words[i].text, command.place.line, is_sure);
    return true;
  }
  if (const auto done = run_builtin(command, is_sure)) return done->succeeds;
  if (name == "exit") {
    has_ended_ = is_sure && ends_script(command, conditions_ > 0);
    return true;
  }
  if ((name == "exec" || name == "command" || name == "time") && command.words.size() > 1) {
    command.words.erase(command.words.begin());
    return execute(std::move(command), is_sure);
  }
  const auto function = functions_.find(name);
  if (function == functions_.end())
    if (const StartedScript script = started_script(command); script.path < command.words.size())
      if (const auto status = run_file(command, script, is_sure)) return status;
  if (name == "source" || name == ".") {
    note(command.place.line, "source is not read; variables that it sets are not known: " + command.words.back().text);
    return std::nullopt;
  }
  if (function != functions_.end()) return run_function(command, std::vector<Token>(function->second), is_sure);
  if (name == "eval") {
    run_text(text_of_words(command, 1), command.place.line, is_sure);
    return std::nullopt;
  }
  if ((name == "sbatch" || name == "bash" || name == "sh") && body_ != nullptr) return run_body(is_sure);
  if (run_remote(command, is_sure) || run_shell_text(command, is_sure)) return std::nullopt;
  if (name == "sed" || (name == "cat" && body_ == nullptr && command.words.size() > 1)) {
    output_ = edit_text(command, input_, target_);
    if (!output_ && captured_ != nullptr) captured_->reset();
    return std::nullopt;
  }
  const bool is_tee = name == "tee" && body_ != nullptr && command.words.size() > 1;
  if (is_tee) target_ = command.words.back().text;
  if ((name == "cat" || name == "echo" || is_tee) && !target_.empty()) {
    write_file(command, target_, body_, appends_);
  } else if (captured_ != nullptr) {
    write_output(command, is_sure);
    return std::nullopt;
  }
  script_.commands.push_back(std::move(command));
  return std::nullopt;
}

std::optional<bool> Interpreter::run_function(const ShellCommand& command, const std::vector<Token>& body,
                                              bool is_sure) {
  if (++depth_ > kDeepestCall) fail(command.place.line, "functions call each other without end");
  const Arguments outer = set_arguments(command, 1);
  run_tokens(body, is_sure);
  restore_arguments(outer);
  --depth_;
  return std::nullopt;
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
  note(command.place.line, path + " is read");
  const Arguments outer = set_arguments(command, script.path + 1);
  const std::string outer_name = std::exchange(name_, name_ + ": " + path);
  for (ShellCommand& directive : read_directives(text->text, name_)) script_.directives.push_back(directive);
  if (command.words.front().text == "sbatch") add_submission(command, 1, script.path);
  const std::size_t first = script_.commands.size();
  run_text(text->text, 1, is_sure);
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    std::vector<Word>& words = script_.commands[i].words;
    words.insert(words.begin(), command.words.begin(),
                 command.words.begin() + static_cast<std::ptrdiff_t>(script.launcher_end));
  }
  name_ = outer_name;
  restore_arguments(outer);
  return true;
}

// Follows the script in a here-document: sbatch <<EOF.
std::optional<bool> Interpreter::run_body(bool is_sure) {
  const int line = body_->line + 1;
  const std::string text = body_->is_literal ? body_->body : expand_body(body_->body, variables_, {name_, line}).text;
  for (ShellCommand& directive : read_directives(text, name_)) script_.directives.push_back(std::move(directive));
  run_text(text, line, is_sure);
  return std::nullopt;
}

bool Interpreter::run_remote(const ShellCommand& command, bool is_sure) {
  const std::string& name = command.words.front().text;
  if (name == "sbatch") {
    const auto wrapped = wrapped_text(command);
    if (!wrapped) return false;
    add_submission(command, 1, command.words.size());
    run_text(*wrapped, command.place.line, is_sure);
    return true;
  }
  if (name != "ssh" && name != "pdsh") return false;
  std::size_t first = 1;
  while (first < command.words.size() && command.words[first].text.compare(0, 1, "-") == 0)
    first += std::string("-i-p-o-l-F-J-w-f-u").find(command.words[first].text) != std::string::npos ? 2 : 1;
  if (name == "ssh") ++first;  // the host
  if (first >= command.words.size()) return true;
  run_text(text_of_words(command, first), command.place.line, is_sure);
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
  run_text(words[shell + 2].text, command.place.line, is_sure);
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    script_.commands[i].words.insert(script_.commands[i].words.begin(), words.begin(),
                                     words.begin() + static_cast<std::ptrdiff_t>(shell));
  return true;
}

std::optional<Word> Interpreter::input_of_command() {
  if (here_string_) return here_string_;
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
  if (writes_errors_ || !*captured_) return;
  const std::optional<Word> text = output_of(command, input_of_command());
  if (!text || !is_sure) return captured_->reset();
  (*captured_)->text += text->text;
  (*captured_)->add_unknown(text->unknown);
}

std::optional<Word> Interpreter::capture(const std::string& text, const Place& place) {
  constexpr int kMostCaptures = 2000, kDeepestCapture = 8;
  if (++captures_ > kMostCaptures || capture_depth_ >= kDeepestCapture) return std::nullopt;
  const std::string name = name_;
  const auto saved = std::make_tuple(tokens_, at_, body_, depth_, skipping_, conditions_, has_ended_, captured_);
  const auto streams = std::make_tuple(here_string_, target_, appends_, writes_errors_, input_, output_);
  const std::size_t commands = script_.commands.size();
  // The original map stays as it is, because values in it are being expanded.
  Variables::Values outer = variables_.values;
  Variables::Tables outer_tables = variables_.tables;
  outer.swap(variables_.values);
  std::optional<Word> captured = Word{"", "", place};
  captured_ = &captured;
  skipping_ = conditions_ = 0;
  ++capture_depth_;
  try {
    run_text(text, std::max(1, place.line), true);
  } catch (const InputError&) {
    captured.reset();
  }
  --capture_depth_;
  outer.swap(variables_.values);
  variables_.tables = std::move(outer_tables);
  script_.commands.resize(commands);
  std::tie(tokens_, at_, body_, depth_, skipping_, conditions_, has_ended_, captured_) = saved;
  std::tie(here_string_, target_, appends_, writes_errors_, input_, output_) = streams;
  name_ = name;
  if (!captured) return std::nullopt;
  while (!captured->text.empty() && captured->text.back() == '\n') captured->text.pop_back();
  return captured;
}

}  // namespace lockstep::sim::launch
