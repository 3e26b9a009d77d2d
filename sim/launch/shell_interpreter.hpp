#pragma once
// Follows the commands of a script. shell.cpp has lists, tests and loops; shell_commands.cpp has single commands.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/launch/shell_state.hpp"

namespace lockstep::sim::launch {

/// Whether a branch is taken.
enum class Runs { never, perhaps, always };

class Interpreter : private ShellState {
 public:
  Interpreter(const std::string& name, const ShellSurroundings& surroundings);
  using ShellState::finish;

  void run_text(const std::string& text, int first_line, bool is_sure);
  /// Runs "$(text)" in a copy of the variables. Returns what its commands write; none: that is not known.
  std::optional<Word> capture(const std::string& text, const Place& place);

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
  std::optional<bool> run_group(bool is_sure, const std::string& close);
  std::optional<bool> run_if(bool is_sure);
  std::optional<bool> run_branch(bool is_sure, Runs runs, bool all_known,
                                 const std::vector<std::string>& until = {"elif", "else", "fi"});
  std::optional<bool> run_for(bool is_sure);
  std::optional<bool> run_while(bool is_sure);
  std::optional<bool> run_case(bool is_sure);
  std::optional<bool> run_test();
  std::optional<bool> run_arithmetic(bool is_sure);
  /// Stores the body, which runs at each call.
  std::optional<bool> define_function();
  void skip_redirections();
  bool take_redirection();
  std::optional<bool> run_simple(bool is_sure);
  std::optional<bool> execute(ShellCommand command, bool is_sure);
  std::optional<bool> run_file(const ShellCommand& command, const StartedScript& script, bool is_sure);
  /// Follows the script in a here-document: sbatch <<EOF.
  std::optional<bool> run_body(bool is_sure);
  /// Evaluates "X = Y * 2" or "X == Y", as in "((...))" and let.
  std::optional<bool> run_expression(const std::string& text, int line, bool is_sure);
  std::optional<bool> run_function(const ShellCommand& command, const std::vector<Token>& body, bool is_sure);
  /// Follows the text that ssh, or sbatch with --wrap, starts. False: the command is another one.
  bool run_remote(const ShellCommand& command, bool is_sure);
  /// Follows the text in "srun bash -c 'cd dir; ./train.sh'", which starts scripts. False: the command is another one.
  bool run_shell_text(const ShellCommand& command, bool is_sure);
  /// Appends what the command prints to the text that "$(...)" collects. What other programs print is unknown.
  void write_output(const ShellCommand& command, bool is_sure);
  /// The text that the command reads: a here-document, a here-string, or the output of the command before.
  std::optional<Word> input_of_command();
  /// Returns what the pipeline's last command wrote, for the next one.
  std::optional<Word> take_output(std::size_t captured_before);

  std::map<std::string, std::vector<Token>> functions_;
  const std::vector<Token>* tokens_ = nullptr;
  std::size_t at_ = 0;
  int steps_ = 0, depth_ = 0, skipping_ = 0;
  int conditions_ = 0;  ///< number of tests around the current command
  int captures_ = 0, capture_depth_ = 0;
  bool has_ended_ = false;
  const Token* body_ = nullptr;                   ///< here-document of the current command
  std::optional<Word> here_string_;               ///< of the current command
  std::string target_;                            ///< file to which the command writes
  bool appends_ = false, writes_errors_ = false;  ///< ">>", ">&2"
  std::optional<Word> input_, output_;            ///< input and output of the command in a pipeline, if known
  std::optional<Word>* captured_ = nullptr;       ///< output of the commands in "$(...)"
};

}  // namespace lockstep::sim::launch
