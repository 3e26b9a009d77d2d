#include "sim/launch/shell.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_interpreter.hpp"
#include "sim/launch/shell_tests.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kMostSteps = 100'000, kDeepestCommand = 64;
constexpr std::size_t kMostRounds = 256;  // limit of a loop's rounds

Runs runs_if(const std::optional<bool>& condition) {
  return !condition ? Runs::perhaps : *condition ? Runs::always : Runs::never;
}

}  // namespace

Interpreter::Interpreter(const std::string& name, const ShellSurroundings& surroundings)
    : ShellState(name, surroundings) {
  followed_.push_back(name.compare(0, 2, "./") == 0 ? name.substr(2) : name);
  jobs_ = surroundings.variables.count("SLURM_JOB_ID") > 0 ? 1 : 0;
  variables_.run_command = [this](const std::string& text, const Place& place) { return capture(text, place); };
}

void Interpreter::run_text(const std::string& text, int first_line, bool is_sure) {
  if (++depth_ > kDeepestCommand) fail(first_line, "functions or evaluated texts call each other without end");
  std::vector<Token> tokens = tokens_of(text, name_);
  for (Token& token : tokens) token.line += first_line - 1;
  run_tokens(tokens, is_sure);
  --depth_;
}

void Interpreter::run_tokens(const std::vector<Token>& tokens, bool is_sure) {
  const std::vector<Token>* const outer_tokens = tokens_;
  const std::size_t outer_at = at_;
  tokens_ = &tokens;
  at_ = 0;
  while (peek().kind != Token::Kind::end && jump_ == Jump::none) {
    const std::size_t before = at_;
    run_list(is_sure, {});
    if (at_ == before) ++at_;  // skips an operator that begins no command
  }
  tokens_ = outer_tokens;
  at_ = outer_at;
}

bool Interpreter::is_one_of(const std::vector<std::string>& words) const {
  return (peek().kind == Token::Kind::word || peek().text == ";;" || peek().text == ")") &&
         std::find(words.begin(), words.end(), peek().text) != words.end();
}

void Interpreter::skip_newlines() {
  while (is_op("\n") || is_op(";") || is_op("&")) ++at_;
}

void Interpreter::expect(const std::string& word) {
  skip_newlines();
  if (!is_word(word)) fail(peek().line, "expected " + in_quotes(word));
  ++at_;
}

// Runs commands up to one of the words `until`. nullopt: it is unknown whether the last one succeeds.
std::optional<bool> Interpreter::run_list(bool is_sure, const std::vector<std::string>& until) {
  std::optional<bool> status;
  while (true) {
    skip_newlines();
    if (peek().kind == Token::Kind::end || is_one_of(until) || jump_ != Jump::none) return status;
    const std::size_t before = at_;
    status = run_chain(is_sure);
    if (at_ == before) return status;
  }
}

// Runs "A && B || C". A program is assumed to succeed. A test that cannot be evaluated is assumed to hold where "&&"
// follows, and to fail where "||" does, so that the command behind it runs.
std::optional<bool> Interpreter::run_chain(bool is_sure) {
  const int line = peek().line;
  std::optional<bool> status = run_pipeline(is_sure);
  bool is_undecided = is_undecided_, is_taken = false;  // the command behind an undecided test was taken
  const std::string outer = assumption_;
  while (jump_ == Jump::none && (is_op("&&") || is_op("||"))) {
    const bool is_and = is_op("&&");
    ++at_;
    while (is_op("\n")) ++at_;
    const bool runs = is_undecided && !is_taken ? true : status.value_or(true) == is_and;
    ++conditions_;
    if (runs) {
      const std::string where = "line " + std::to_string(line) + ": ";
      if (is_undecided && !is_taken)
        assumption_ = where + "the condition cannot be evaluated; it is assumed to " + (is_and ? "hold" : "fail");
      else if (!status && !last_program_.empty())
        assumption_ = where + last_program_ + " is assumed to succeed";
      is_taken = is_taken || is_undecided;
      status = run_pipeline(is_sure && !is_taken);
    } else {
      skip_pipeline();
    }
    --conditions_;
    if (!is_taken) is_undecided = runs ? is_undecided_ : is_undecided;
  }
  assumption_ = outer;
  is_undecided_ = is_undecided;
  return is_taken ? std::nullopt : status;
}

std::optional<bool> Interpreter::run_pipeline(bool is_sure) {
  const bool is_negated = is_word("!");
  if (is_negated) ++at_;
  output_.reset();
  std::optional<Word>* const outer = captured_;
  std::optional<Word> own = Word{"", "", {name_, peek().line}};
  if (outer == nullptr) captured_ = &own;
  const auto captured_size = [this] { return captured_ != nullptr && *captured_ ? (*captured_)->text.size() : 0; };
  const std::size_t before = captured_size();
  std::optional<bool> status = run_command(is_sure);
  while (jump_ == Jump::none && (is_op("|") || is_op("|&"))) {
    ++at_;
    while (is_op("\n")) ++at_;
    const std::optional<Word> input = std::exchange(input_, take_output(before));
    // A command behind "|" runs in a shell of its own; only some commands change its variables.
    const bool may_assign = compound_command() != nullptr || is_one_of({"read", "mapfile", "readarray"}) ||
                            functions_.count(peek().text) > 0;
    if (may_assign && skipping_ == 0)
      run_shell(peek().line, Inherits::all, [&] { run_command(is_sure); });
    else
      run_command(is_sure);
    input_ = input;
    status = std::nullopt;
  }
  if (captured_ != nullptr && output_) {  // of sed or cat
    const Word last = *std::exchange(output_, std::nullopt);
    if (*captured_) (*captured_)->text += last.text;
    if (*captured_) (*captured_)->add_unknown(last.unknown);
  }
  captured_ = outer;
  return status && is_negated ? std::optional<bool>(!*status) : status;
}

// Skips a command without any effect.
void Interpreter::skip_pipeline() {
  ++skipping_;
  run_pipeline(false);
  --skipping_;
}

std::optional<bool> Interpreter::run_command(bool is_sure) {
  if (++steps_ > kMostSteps) fail(peek().line, "more than 100,000 steps");
  if (++depth_ > kDeepestCommand) fail(peek().line, "commands nested deeper than 64");
  const std::optional<bool> status = run_one_command(is_sure);
  --depth_;
  return status;
}

std::optional<bool> Interpreter::run_one_command(bool is_sure) {
  if (const CompoundCommand command = compound_command()) {
    const bool has_own = input_ && skipping_ == 0 && has_own_input(command);
    const std::optional<Word> outer = input_;
    if (has_own) input_ = input_of_command();
    const auto status = run_redirected([this, command, is_sure] { return (this->*command)(is_sure); }, true, is_sure);
    if (has_own) input_ = outer;
    return status;
  }
  const bool is_definition = peek().kind == Token::Kind::word && (*tokens_)[at_ + 1].text == "(" &&
                             (*tokens_)[at_ + 1].kind == Token::Kind::op;
  return is_definition ? define_function(is_sure) : run_simple(is_sure);
}

bool Interpreter::has_own_input(CompoundCommand command) {
  if (command == &Interpreter::run_named_function) return false;
  const std::size_t begin = at_;
  ++skipping_;
  (this->*command)(false);
  --skipping_;
  reset_redirections();
  skip_redirections();
  at_ = begin;
  return !source_.empty() || body_ != nullptr || here_string_;
}

Interpreter::CompoundCommand Interpreter::compound_command() const {
  if (is_op("(")) return &Interpreter::run_subshell;
  if (is_word("{")) return &Interpreter::run_braces;
  if (is_word("if")) return &Interpreter::run_if;
  if (is_word("for") || is_word("select")) return &Interpreter::run_for;
  if (is_word("while") || is_word("until")) return &Interpreter::run_while;
  if (is_word("case")) return &Interpreter::run_case;
  if (is_word("[[")) return &Interpreter::run_test;
  if (is_word("function")) return &Interpreter::run_named_function;
  const bool is_arithmetic = peek().kind == Token::Kind::word && peek().text.compare(0, 2, "((") == 0;
  return is_arithmetic ? &Interpreter::run_arithmetic : nullptr;
}

std::optional<bool> Interpreter::run_braces(bool is_sure) {
  return run_group(is_sure, "}");
}

std::optional<bool> Interpreter::run_subshell(bool is_sure) {
  if (skipping_ > 0) return run_group(is_sure, ")");
  const std::size_t begin = at_;
  std::optional<bool> status;
  run_shell(peek().line, Inherits::all, [&] {
    status = run_group(is_sure, ")");
    if (jump_ == Jump::none) return;
    jump_ = Jump::none;
    at_ = begin;
    ++skipping_;
    run_group(false, ")");
    --skipping_;
  });
  return status;
}

std::optional<bool> Interpreter::run_group(bool is_sure, const std::string& close) {
  const int line = peek().line;
  ++at_;
  const std::optional<bool> status = run_list(is_sure, {close});
  if (jump_ != Jump::none) return status;
  if (peek().kind == Token::Kind::end) fail(line, "a bracket is not closed");
  ++at_;
  return status;
}

std::optional<bool> Interpreter::run_if(bool is_sure) {
  bool is_done = false, all_known = true;  // a branch was taken; all tests so far were known
  std::optional<bool> status = true;
  while (true) {
    const int line = peek().line;
    ++at_;  // the word "if" or "elif"
    if (is_done) ++skipping_;
    std::optional<bool> condition = run_list(is_sure && all_known, {"then"});
    if (is_done) --skipping_;
    if (jump_ != Jump::none) return status;
    expect("then");
    const bool is_open = !condition && !is_done && skipping_ == 0;
    if (!condition) condition = way_without_failure(*tokens_, at_);
    if (is_open && condition) note(line, "the test cannot be evaluated; the branch without an error is read");
    if (is_open && !condition) note(line, "the test cannot be evaluated; both branches are read");
    status = run_branch(is_sure, is_done ? Runs::never : runs_if(condition), all_known);
    if (jump_ != Jump::none) return status;
    if (condition == true && !is_done) is_done = true;
    if (!condition) all_known = false;
    if (!is_word("elif")) break;
  }
  if (is_word("else")) {
    ++at_;
    status = run_branch(is_sure, is_done ? Runs::never : Runs::always, all_known, {"fi"});
    if (jump_ != Jump::none) return status;
  }
  expect("fi");
  return status;
}

std::optional<bool> Interpreter::run_branch(bool is_sure, Runs runs, bool all_known,
                                            const std::vector<std::string>& until) {
  if (runs == Runs::never) ++skipping_;
  ++conditions_;
  const std::optional<bool> status = run_list(is_sure && all_known && runs != Runs::perhaps, until);
  --conditions_;
  if (runs == Runs::never) --skipping_;
  return status;
}

std::optional<bool> Interpreter::run_for(bool is_sure) {
  const int line = peek().line;
  ++at_;
  if (peek().kind != Token::Kind::word) fail(line, "a loop without a name");
  if (peek().text.compare(0, 2, "((") == 0) return run_counting_for(is_sure);
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
    ++loops_;
    for (const Word& item : items) {
      at_ = begin;
      variables_.values[variable] = {item};
      run_list(true, {"done"});
      if (!finish_round(begin)) break;
    }
    --loops_;
    if (jump_ != Jump::none) return std::nullopt;
    if (items.empty()) run_branch(false, Runs::never, true, {"done"});
  } else {
    if (skipping_ == 0) note(line, "the words of the loop are not known; its body is read once");
    if (skipping_ == 0) forget(variable, line);
    run_list(false, {"done"});
  }
  expect("done");
  return std::nullopt;
}

std::optional<bool> Interpreter::run_counting_for(bool is_sure) {
  const int line = peek().line;
  const std::vector<std::string> parts = parts_of(peek().text.substr(2, peek().text.size() - 4), ';');
  if (parts.size() != 3) fail(line, "a loop without three expressions");
  ++at_;
  skip_newlines();
  const bool has_braces = is_word("{");
  const std::string end = has_braces ? "}" : "done";
  if (has_braces)
    ++at_;
  else
    expect("do");
  const std::size_t begin = at_;
  const auto holds = [&] {
    return without_blanks(parts[1]).empty() ? std::optional<bool>() : run_expression(parts[1], line, is_sure);
  };
  run_expression(parts[0], line, is_sure);
  std::optional<bool> condition = holds();
  std::size_t rounds = 0;
  ++loops_;
  while (is_sure && skipping_ == 0 && condition == true && rounds < kMostRounds) {
    ++rounds;
    at_ = begin;
    run_list(true, {end});
    if (jump_ != Jump::none && !finish_round(begin, end)) break;
    run_expression(parts[2], line, true);
    condition = holds();
  }
  --loops_;
  if (jump_ != Jump::none) return std::nullopt;
  const bool is_left = condition == true && is_sure && rounds < kMostRounds && rounds > 0;  // by break
  if (!is_left) {
    at_ = begin;
    const bool ends = condition == false || skipping_ > 0;
    if (!ends) note(line, "the rounds of the loop are not known; its body is read once more");
    run_branch(false, ends ? Runs::never : Runs::perhaps, true, {end});
    if (!ends) run_expression(parts[2], line, false);
  }
  if (!is_word(end)) fail(peek().line, "expected " + in_quotes(end));
  ++at_;
  return std::nullopt;
}

bool Interpreter::finish_round(std::size_t begin, const std::string& end) {
  if (jump_ == Jump::none) return true;
  if (jump_ != Jump::ends_loop && jump_ != Jump::ends_round) return false;
  if (left_loops_ > 1) {
    --left_loops_;
    return false;
  }
  const bool continues = std::exchange(jump_, Jump::none) == Jump::ends_round;
  at_ = begin;
  run_branch(false, Runs::never, true, {end});
  return continues;
}

// Follows the rounds of a loop whose condition is known. "while true" and loops with unknown conditions are followed
// once.
std::optional<bool> Interpreter::run_while(bool is_sure) {
  const int line = peek().line;
  const bool is_until = is_word("until");
  const std::size_t begin = ++at_;
  const bool is_endless = is_one_of({"true", ":", "((1))"});
  std::size_t rounds = 0;
  ++loops_;
  while (true) {
    at_ = begin;
    const std::optional<bool> condition = run_list(is_sure, {"do"});
    if (jump_ != Jump::none) break;
    expect("do");
    const bool ends = condition && *condition == is_until;
    const bool is_known = condition && is_sure && skipping_ == 0 && !is_endless && rounds < kMostRounds;
    if (ends || !is_known) {
      if (!ends && skipping_ == 0)
        note(line, rounds > 0 ? "the body of the loop is read " + std::to_string(rounds) + " times"
                              : std::string("the body of the loop is read once"));
      run_branch(false, ends ? Runs::never : Runs::perhaps, true, {"done"});
      break;
    }
    ++rounds;
    const std::size_t body = at_;
    run_list(true, {"done"});
    if (!finish_round(body)) break;
  }
  --loops_;
  if (jump_ != Jump::none) return std::nullopt;
  expect("done");
  return std::nullopt;
}

std::optional<bool> Interpreter::run_case(bool is_sure) {
  const int line = peek().line;
  ++at_;
  const Word subject = skipping_ > 0 ? Word{} : expand_in_test(peek().text, variables_, {name_, line});
  ++at_;
  expect("in");
  bool is_known = subject.unknown.empty();
  if (!is_known && skipping_ == 0) note(line, "the case cannot be evaluated; all branches are read");
  bool is_done = false;
  while (true) {
    skip_newlines();
    if (is_word("esac")) break;
    if (peek().kind == Token::Kind::end) fail(line, "a case without \"esac\"");
    bool matches = false;
    for (; !is_op(")") && peek().kind != Token::Kind::end; ++at_) {
      if (peek().kind != Token::Kind::word || skipping_ > 0 || matches) continue;
      const Word pattern = expand_pattern(peek().text, variables_, {name_, peek().line}, false);
      is_known = is_known && pattern.unknown.empty() && is_known_pattern(pattern.text);
      matches = is_known && matches_pattern(subject.text, pattern.text);
    }
    if (is_op(")")) ++at_;
    const Runs runs = is_done               ? Runs::never
                      : !is_known           ? Runs::perhaps
                      : matches && !is_done ? Runs::always
                                            : Runs::never;
    run_branch(is_sure, runs, true, {";;", "esac"});
    if (jump_ != Jump::none) return std::nullopt;
    is_done = is_done || matches;
    if (is_op(";;")) ++at_;
  }
  expect("esac");
  return std::nullopt;
}

ShellScript read_shell(const std::string& text, const std::string& name, const ShellSurroundings& surroundings) {
  Interpreter interpreter(name, surroundings);
  interpreter.run_text(text, 1, true);
  ShellScript script = interpreter.finish();
  const std::vector<ShellCommand> of_file = read_directives(text, name);
  script.directives.insert(script.directives.begin(), of_file.begin(), of_file.end());
  return script;
}

}  // namespace lockstep::sim::launch
