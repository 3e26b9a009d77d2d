#include "sim/launch/shell.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_state.hpp"
#include "sim/launch/shell_tests.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kMostSteps = 100'000, kDeepestCommand = 64;
constexpr std::size_t kMostRounds = 256;  // limit of a loop's rounds

// Whether a branch is taken.
enum class Runs { never, perhaps, always };

Runs runs_if(const std::optional<bool>& condition) {
  return !condition ? Runs::perhaps : *condition ? Runs::always : Runs::never;
}

class Interpreter : private ShellState {
 public:
  Interpreter(const std::string& name, const ShellSurroundings& surroundings) : ShellState(name, surroundings) {}
  using ShellState::finish;

  void run_text(const std::string& text, int first_line, bool is_sure) {
    if (++depth_ > kDeepestCommand) fail(first_line, "functions or evaluated texts call each other without end");
    std::vector<Token> tokens = tokens_of(text, name_);
    for (Token& token : tokens) token.line += first_line - 1;
    run_tokens(tokens, is_sure);
    --depth_;
  }

 private:
  void run_tokens(const std::vector<Token>& tokens, bool is_sure) {
    const std::vector<Token>* const outer_tokens = tokens_;
    const std::size_t outer_at = at_;
    tokens_ = &tokens;
    at_ = 0;
    while (peek().kind != Token::Kind::end && !has_ended_) {
      const std::size_t before = at_;
      run_list(is_sure, {});
      if (at_ == before) ++at_;  // skips an operator that begins no command
    }
    tokens_ = outer_tokens;
    at_ = outer_at;
  }

  const Token& peek() const { return (*tokens_)[at_]; }
  bool is_op(const std::string& op) const { return peek().kind == Token::Kind::op && peek().text == op; }
  bool is_word(const std::string& word) const { return peek().kind == Token::Kind::word && peek().text == word; }
  bool is_one_of(const std::vector<std::string>& words) const {
    return (peek().kind == Token::Kind::word || peek().text == ";;" || peek().text == ")") &&
           std::find(words.begin(), words.end(), peek().text) != words.end();
  }
  void skip_newlines() {
    while (is_op("\n") || is_op(";") || is_op("&")) ++at_;
  }
  void expect(const std::string& word) {
    skip_newlines();
    if (!is_word(word)) fail(peek().line, "expected " + in_quotes(word));
    ++at_;
  }

  // Runs commands up to one of the words `until`. nullopt: it is unknown whether the last one succeeds.
  std::optional<bool> run_list(bool is_sure, const std::vector<std::string>& until) {
    std::optional<bool> status;
    while (true) {
      skip_newlines();
      if (peek().kind == Token::Kind::end || is_one_of(until) || has_ended_) return status;
      const std::size_t before = at_;
      status = run_chain(is_sure);
      if (at_ == before) return status;
    }
  }

  // Runs "A && B || C".
  std::optional<bool> run_chain(bool is_sure) {
    std::optional<bool> status = run_pipeline(is_sure);
    while (is_op("&&") || is_op("||")) {
      const bool is_and = is_op("&&");
      ++at_;
      while (is_op("\n")) ++at_;
      // Commands are assumed to succeed.
      const bool succeeds = status.value_or(true);
      ++conditions_;
      if (succeeds == is_and)
        status = run_pipeline(is_sure && (status.has_value() || is_and));
      else
        skip_pipeline();
      --conditions_;
    }
    return status;
  }

  std::optional<bool> run_pipeline(bool is_sure) {
    const bool is_negated = is_word("!");
    if (is_negated) ++at_;
    input_.reset();
    output_.reset();
    std::optional<bool> status = run_command(is_sure);
    while (is_op("|") || is_op("|&")) {
      ++at_;
      while (is_op("\n")) ++at_;
      input_ = std::exchange(output_, std::nullopt);
      run_command(is_sure);
      status = std::nullopt;
    }
    return status && is_negated ? std::optional<bool>(!*status) : status;
  }

  // Skips a command without any effect.
  void skip_pipeline() {
    ++skipping_;
    run_pipeline(false);
    --skipping_;
  }

  std::optional<bool> run_command(bool is_sure) {
    if (++steps_ > kMostSteps) fail(peek().line, "more than 100,000 steps");
    if (++depth_ > kDeepestCommand) fail(peek().line, "commands nested deeper than 64");
    const std::optional<bool> status = run_one_command(is_sure);
    --depth_;
    return status;
  }

  std::optional<bool> run_one_command(bool is_sure) {
    if (is_op("(")) return run_group(is_sure, ")");
    if (is_word("{")) return run_group(is_sure, "}");
    if (is_word("if")) return run_if(is_sure);
    if (is_word("for") || is_word("select")) return run_for(is_sure);
    if (is_word("while") || is_word("until")) return run_while(is_sure);
    if (is_word("case")) return run_case(is_sure);
    if (is_word("[[")) return run_test();
    if (is_word("function")) {
      ++at_;
      return define_function();
    }
    const bool is_definition = peek().kind == Token::Kind::word && (*tokens_)[at_ + 1].text == "(" &&
                               (*tokens_)[at_ + 1].kind == Token::Kind::op;
    if (is_definition) return define_function();
    if (peek().kind == Token::Kind::word && peek().text.compare(0, 2, "((") == 0) return run_arithmetic(is_sure);
    return run_simple(is_sure);
  }

  std::optional<bool> run_group(bool is_sure, const std::string& close) {
    const int line = peek().line;
    ++at_;
    const std::optional<bool> status = run_list(is_sure, {close});
    if (peek().kind == Token::Kind::end) fail(line, "a bracket is not closed");
    ++at_;
    skip_redirections();
    return status;
  }

  std::optional<bool> run_if(bool is_sure) {
    bool is_done = false, all_known = true;  // a branch was taken; all tests so far were known
    std::optional<bool> status = true;
    while (true) {
      const int line = peek().line;
      ++at_;  // the word "if" or "elif"
      if (is_done) ++skipping_;
      std::optional<bool> condition = run_list(is_sure && all_known, {"then"});
      if (is_done) --skipping_;
      expect("then");
      const bool is_open = !condition && !is_done && skipping_ == 0;
      if (!condition) condition = way_without_failure(*tokens_, at_);
      if (is_open && condition) note(line, "the test cannot be evaluated; the way without an error is followed");
      if (is_open && !condition) note(line, "the test cannot be evaluated; both ways are followed");
      status = run_branch(is_sure, is_done ? Runs::never : runs_if(condition), all_known);
      if (condition == true && !is_done) is_done = true;
      if (!condition) all_known = false;
      if (!is_word("elif")) break;
    }
    if (is_word("else")) {
      ++at_;
      status = run_branch(is_sure, is_done ? Runs::never : Runs::always, all_known, {"fi"});
    }
    expect("fi");
    skip_redirections();
    return status;
  }

  std::optional<bool> run_branch(bool is_sure, Runs runs, bool all_known,
                                 const std::vector<std::string>& until = {"elif", "else", "fi"}) {
    if (runs == Runs::never) ++skipping_;
    ++conditions_;
    const std::optional<bool> status = run_list(is_sure && all_known && runs != Runs::perhaps, until);
    --conditions_;
    if (runs == Runs::never) --skipping_;
    return status;
  }

  std::optional<bool> run_for(bool is_sure) {
    const int line = peek().line;
    ++at_;
    if (peek().kind != Token::Kind::word) fail(line, "a loop without a name");
    const std::string variable = peek().text;
    ++at_;
    Value items;
    bool is_known = false;
    skip_newlines();
    if (is_word("in")) {
      is_known = true;
      for (++at_; peek().kind == Token::Kind::word; ++at_)
        for (Word& word : expand(peek().text, variables_, {name_, peek().line})) {
          is_known = is_known && word.unknown.empty();
          items.push_back(std::move(word));
        }
    }
    expect("do");
    const std::size_t begin = at_;
    if (is_known && is_sure && skipping_ == 0 && items.size() <= kMostRounds) {
      for (const Word& item : items) {
        at_ = begin;
        variables_.values[variable] = {item};
        run_list(true, {"done"});
      }
      if (items.empty()) run_branch(false, Runs::never, true, {"done"});
    } else {
      if (skipping_ == 0) note(line, "what the loop runs over is not known; it is followed once");
      if (skipping_ == 0) forget(variable, line);
      run_list(false, {"done"});
    }
    expect("done");
    skip_redirections();
    return std::nullopt;
  }

  std::optional<bool> run_while(bool is_sure) {
    const int line = peek().line;
    const bool is_until = is_word("until");
    ++at_;
    const std::optional<bool> condition = run_list(is_sure, {"do"});
    expect("do");
    const bool runs_never = condition && *condition == is_until;
    if (!runs_never && skipping_ == 0) note(line, "the loop is followed once");
    run_branch(false, runs_never ? Runs::never : Runs::perhaps, true, {"done"});
    expect("done");
    skip_redirections();
    return std::nullopt;
  }

  std::optional<bool> run_case(bool is_sure) {
    const int line = peek().line;
    ++at_;
    const Word subject = expand_in_test(peek().text, variables_, {name_, line});
    ++at_;
    expect("in");
    const bool is_known = subject.unknown.empty();
    if (!is_known && skipping_ == 0) note(line, "the case cannot be evaluated; all ways are followed");
    bool is_done = false;
    while (true) {
      skip_newlines();
      if (is_word("esac")) break;
      if (peek().kind == Token::Kind::end) fail(line, "a case without \"esac\"");
      bool matches = false;
      for (; !is_op(")") && peek().kind != Token::Kind::end; ++at_)
        if (peek().kind == Token::Kind::word)
          matches = matches ||
                    matches_pattern(subject.text, expand_to_one(peek().text, variables_, {name_, peek().line}).text);
      if (is_op(")")) ++at_;
      const Runs runs = !is_known ? Runs::perhaps : matches && !is_done ? Runs::always : Runs::never;
      run_branch(is_sure, runs, true, {";;", "esac"});
      is_done = is_done || matches;
      if (is_op(";;")) ++at_;
    }
    expect("esac");
    return std::nullopt;
  }

  std::optional<bool> run_test() {
    const int line = peek().line;
    std::vector<std::string> words;
    for (++at_; !is_word("]]"); ++at_) {
      if (peek().kind == Token::Kind::end) fail(line, "a test without \"]]\"");
      if (peek().text != "\n") words.push_back(peek().text);
    }
    ++at_;
    return value_of_test(words, variables_, {name_, line});
  }

  std::optional<bool> run_arithmetic(bool is_sure) {
    const Token token = peek();
    ++at_;
    skip_redirections();
    const std::string inside = token.text.substr(2, token.text.size() - 4);
    if (const auto assignment = assignment_of(inside); assignment && inside.find("==") == std::string::npos) {
      assign({assignment->name, false, "$((" + assignment->raw + "))"}, token.line, is_sure);
      return true;
    }
    const auto value = arithmetic(inside, variables_, {name_, token.line});
    return value ? std::optional<bool>(*value != 0) : std::nullopt;
  }

  // Stores the body, which runs at each call.
  std::optional<bool> define_function() {
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

  void skip_redirections() {
    while (take_redirection()) {
    }
  }
  bool take_redirection() {
    static const std::vector<std::string> kOps{"<", ">", ">>", "<<", "<<-", "<<<", "&>", "&>>", ">&", "<&"};
    if (peek().kind != Token::Kind::op || std::find(kOps.begin(), kOps.end(), peek().text) == kOps.end()) return false;
    const std::string op = peek().text;
    ++at_;
    if (peek().kind != Token::Kind::word) return true;
    if (op == "<<" || op == "<<-") body_ = &peek();
    if (op == ">" || op == ">>") target_ = peek().text;
    ++at_;
    return true;
  }

  std::optional<bool> run_simple(bool is_sure) {
    const int line = peek().line;
    std::vector<std::pair<std::string, int>> raw;
    body_ = nullptr;
    target_.clear();
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
    return command.words.empty() ? std::optional<bool>(true) : execute(std::move(command), is_sure);
  }

  std::optional<bool> execute(ShellCommand command, bool is_sure) {
    const std::string name = command.words.front().text;
    if (const auto done = run_builtin(command)) return done->succeeds;
    if (name == "exit") {
      has_ended_ = is_sure && ends_script(command, conditions_ > 0);
      return true;
    }
    if (const std::size_t path = index_of_script(command); path > 0) {
      if (const auto status = run_file(command, path, is_sure)) return status;
    }
    if (name == "source" || name == ".") {
      note(command.place.line,
           "source is not read; variables that it sets are not known: " + command.words.back().text);
      return std::nullopt;
    }
    if (const auto function = functions_.find(name); function != functions_.end()) {
      if (++depth_ > kDeepestCommand) fail(command.place.line, "functions call each other without end");
      const std::vector<Token> body = function->second;
      const Arguments outer = set_arguments(command, 1);
      run_tokens(body, is_sure);
      restore_arguments(outer);
      --depth_;
      return std::nullopt;
    }
    if (name == "eval") {
      run_text(text_of_words(command, 1), command.place.line, is_sure);
      return std::nullopt;
    }
    if ((name == "sbatch" || name == "bash" || name == "sh") && body_ != nullptr) return run_body(is_sure);
    if (name == "sed" || (name == "cat" && body_ == nullptr && command.words.size() > 1)) {
      output_ = edit_text(command, input_, target_);
      return std::nullopt;
    }
    if ((name == "cat" || name == "echo") && !target_.empty()) write_file(command, target_, body_);
    script_.commands.push_back(std::move(command));
    return std::nullopt;
  }

  // Follows a script that this one sources or starts. nullopt: the script cannot be read.
  std::optional<bool> run_file(const ShellCommand& command, std::size_t path, bool is_sure) {
    const std::optional<Word> text = file_text(command.words[path]);
    if (!text || !text->unknown.empty()) return std::nullopt;
    note(command.place.line, command.words[path].text + " is read");
    const Arguments outer = set_arguments(command, path + 1);
    const std::string outer_name = std::exchange(name_, name_ + ": " + command.words[path].text);
    for (ShellCommand& directive : read_directives(text->text, name_)) script_.directives.push_back(directive);
    run_text(text->text, 1, is_sure);
    name_ = outer_name;
    restore_arguments(outer);
    return true;
  }

  // Follows the script in a here-document: sbatch <<EOF.
  std::optional<bool> run_body(bool is_sure) {
    const int line = body_->line + 1;
    const std::string text = body_->is_literal ? body_->body : expand_body(body_->body, variables_, {name_, line}).text;
    for (ShellCommand& directive : read_directives(text, name_)) script_.directives.push_back(std::move(directive));
    run_text(text, line, is_sure);
    return std::nullopt;
  }

  std::map<std::string, std::vector<Token>> functions_;
  const std::vector<Token>* tokens_ = nullptr;
  std::size_t at_ = 0;
  int steps_ = 0, depth_ = 0, skipping_ = 0;
  int conditions_ = 0;  // number of tests around the current command
  bool has_ended_ = false;
  const Token* body_ = nullptr;         // here-document of the current command
  std::string target_;                  // file to which the command writes
  std::optional<Word> input_, output_;  // input and output of the command in a pipeline, if known
};

}  // namespace

ShellScript read_shell(const std::string& text, const std::string& name, const ShellSurroundings& surroundings) {
  Interpreter interpreter(name, surroundings);
  interpreter.run_text(text, 1, true);
  ShellScript script = interpreter.finish();
  const std::vector<ShellCommand> of_file = read_directives(text, name);
  script.directives.insert(script.directives.begin(), of_file.begin(), of_file.end());
  return script;
}

}  // namespace lockstep::sim::launch
