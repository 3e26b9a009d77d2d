#pragma once
// Follows the commands of a script. shell.cpp has lists, tests and loops; shell_commands.cpp has single commands.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/launch/shell_state.hpp"

namespace lockstep::sim::launch {

/// Whether a branch is taken.
enum class Runs { never, perhaps, always };

/// A command that leaves the commands around it: exit, return, break, continue.
enum class Jump { none, ends_shell, returns, ends_loop, ends_round };

/// Which variables a started shell has: all, as "(...)" does, or those that the script exports.
enum class Inherits { all, environment };

class Interpreter : private ShellState {
 public:
  Interpreter(const std::string& name, const ShellSurroundings& surroundings);
  using ShellState::finish;

  void run_text(const std::string& text, int first_line, bool is_sure);
  /// Runs "$(text)" in a copy of the variables. Returns what its commands write; none: that is not known.
  /// `strips`: without newlines at the end.
  std::optional<Word> capture(const std::string& text, const Place& place, bool strips = true);

 private:
  const Token& peek() const { return (*tokens_)[at_]; }
  bool is_op(const std::string& op) const { return peek().kind == Token::Kind::op && peek().text == op; }
  bool is_word(const std::string& word) const { return peek().kind == Token::Kind::word && peek().text == word; }
  void run_tokens(const std::vector<Token>& tokens, bool is_sure);
  bool is_one_of(const std::vector<std::string>& words) const;
  void skip_newlines();
  void expect(const std::string& word);
  /// Runs commands up to one of the words `until`. nullopt: it is unknown whether the last one succeeds.
  std::optional<bool> run_list(bool is_sure, const std::vector<std::string>& until);
  /// Runs "A && B || C".
  std::optional<bool> run_chain(bool is_sure);
  std::optional<bool> run_pipeline(bool is_sure);
  /// Skips a command without any effect.
  void skip_pipeline();
  std::optional<bool> run_command(bool is_sure);
  std::optional<bool> run_one_command(bool is_sure);
  /// Runs a group, test, loop or branch; nullptr: a single command begins here.
  using CompoundCommand = std::optional<bool> (Interpreter::*)(bool is_sure);
  CompoundCommand compound_command() const;
  /// Returns true if a redirection behind the command gives its input, and makes that the current input.
  bool has_own_input(CompoundCommand command);
  /// Runs the commands of `run`, whose output a redirection may take from "$(...)".
  std::optional<bool> run_redirected(const std::function<std::optional<bool>()>& run, bool parses_redirections,
                                     bool is_sure);
  std::optional<bool> run_subshell(bool is_sure);
  std::optional<bool> run_braces(bool is_sure);
  std::optional<bool> run_group(bool is_sure, const std::string& close);
  std::optional<bool> run_if(bool is_sure);
  std::optional<bool> run_branch(bool is_sure, Runs runs, bool all_known,
                                 const std::vector<std::string>& until = {"elif", "else", "fi"});
  std::optional<bool> run_for(bool is_sure);
  /// Runs "for ((i = 0; i < 8; i++))".
  std::optional<bool> run_counting_for(bool is_sure);
  std::optional<bool> run_while(bool is_sure);
  /// Ends a round of the loop whose body begins at `begin`. False: no other round follows.
  bool finish_round(std::size_t begin, const std::string& end = "done");
  std::optional<bool> run_case(bool is_sure);
  std::optional<bool> run_test(bool is_sure);
  std::optional<bool> run_arithmetic(bool is_sure);
  std::optional<bool> run_named_function(bool is_sure);
  /// Stores the body, which runs at each call.
  std::optional<bool> define_function(bool is_sure);
  void skip_redirections();
  bool take_redirection();
  void reset_redirections();
  /// Whether the output goes to a file or to stderr.
  bool redirects_output() const { return !target_.empty() || writes_errors_; }
  std::optional<bool> run_simple(bool is_sure);
  using RawWords = std::vector<std::pair<std::string, int>>;  ///< as written, with their lines
  std::optional<bool> run_with_environment(const RawWords& raw, std::size_t first, bool is_sure);
  ShellCommand words_of_command(const RawWords& raw, std::size_t first, bool is_sure);
  std::optional<bool> execute(ShellCommand command, bool is_sure);
  std::optional<bool> run_program(ShellCommand command, bool is_sure);
  /// Runs exit, return, break or continue. False: the command is another one.
  bool run_jump(const ShellCommand& command, bool is_sure);
  /// Gives the commands from index `first` on the present variables as those of their shell.
  void attach_variables(std::size_t first);
  /// Runs a shell that the script starts: its variables, functions and exit do not affect the script.
  void run_shell(int line, Inherits inherits, const std::function<void()>& run);
  /// Runs what sbatch submits, with the options before the word `end`: its commands have the directives of `text`.
  void run_job(const ShellCommand& command, const std::string& text, std::size_t end, const std::function<void()>& run);
  std::optional<bool> run_file(const ShellCommand& command, const StartedScript& script, bool is_sure);
  /// Follows the script in a here-document: sbatch <<EOF.
  std::optional<bool> run_body(const ShellCommand& command, bool is_sure);
  /// Evaluates "X = Y * 2" or "X == Y", as in "((...))" and let.
  std::optional<bool> run_expression(const std::string& text, int line, bool is_sure);
  std::optional<bool> run_function(const ShellCommand& command, const std::vector<Token>& body, bool is_sure);
  /// Follows the text that ssh, or sbatch with --wrap, starts. False: the command is another one.
  bool run_remote(const ShellCommand& command, bool is_sure);
  /// Follows the text in "srun bash -c 'cd dir; ./train.sh'", which starts scripts. False: the command is another one.
  bool run_shell_text(const ShellCommand& command, bool is_sure);
  /// Appends what the command prints to the text that "$(...)" collects. What other programs print is unknown.
  void write_output(const ShellCommand& command, bool is_sure);
  void append_output(const std::optional<Word>& text, bool is_sure);
  /// Writes the text to the file of the redirection; none: the file's text becomes unknown.
  void write_target(std::optional<Word> text, bool is_sure);
  /// Whether the declaration concerns the function that runs.
  bool is_local(const RawWords& raw, std::size_t first) const;
  /// Keeps the variable's value for the end of the function.
  void keep_outer(const std::string& name);
  void restore_outer();
  /// Carries out a declaration whose word had to be expanded first. Returns the name.
  Word declare(Word word, bool is_local, bool is_sure);
  /// The text that the command reads: a here-document, a here-string, or the output of the command before.
  std::optional<Word> input_of_command();
  /// Returns what the pipeline's last command wrote, for the next one.
  std::optional<Word> take_output(std::size_t captured_before);

  using Functions = std::map<std::string, std::shared_ptr<const std::vector<Token>>>;
  Functions functions_;
  std::set<std::string> unsure_functions_;  ///< functions whose body depends on an unknown test
  struct Outer {
    std::optional<Value> value;
    std::optional<std::map<std::string, Word>> table;
  };
  using OuterValues = std::map<std::string, Outer>;
  std::vector<OuterValues> outer_values_;  ///< of the variables that functions declare, by call
  const std::vector<Token>* tokens_ = nullptr;
  std::size_t at_ = 0;
  int steps_ = 0, depth_ = 0, skipping_ = 0;
  int conditions_ = 0;            ///< number of tests around the current command
  bool is_substitution_ = false;  ///< inside "$(...)"
  int captures_ = 0, capture_depth_ = 0, shells_ = 0, loops_ = 0;
  std::size_t attached_bytes_ = 0;
  std::vector<std::string> followed_;  ///< paths of the scripts being followed
  Jump jump_ = Jump::none;
  int left_loops_ = 1;                            ///< that "break 2" leaves
  bool is_undecided_ = false;                     ///< the last command was a condition that cannot be evaluated
  std::string assumption_;                        ///< about the condition before the current command; empty: none
  std::string last_program_;                      ///< an unknown program that ran last: its success is assumed
  const Token* body_ = nullptr;                   ///< here-document of the current command
  std::optional<Word> here_string_;               ///< of the current command
  std::string source_;                            ///< file, or "<(...)", that the command reads
  std::string target_;                            ///< file to which the command writes
  bool appends_ = false, writes_errors_ = false;  ///< ">>", ">&2"
  std::optional<Word> input_, output_;            ///< input and output of the command in a pipeline, if known
  std::optional<Word>* captured_ = nullptr;       ///< output of the commands in "$(...)"
};

}  // namespace lockstep::sim::launch
