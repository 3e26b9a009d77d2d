// A script is interpreted as a shell would run it, without running anything.
#include "sim/launch/shell.hpp"

#include "sim/launch/python_list.hpp"
#include "sim/launch/shell_tests.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

// Returns the words of every command, separated by "|". Unknown parts are in angle brackets after their word.
std::string commands_of(const std::string& script, const std::map<std::string, std::string>& environment = {},
                        const std::map<std::string, std::string>& files = {}) {
  std::string text;
  sim::launch::ShellSurroundings surroundings;
  for (const auto& [name, value] : environment) surroundings.variables[name] = {value, "", {}};
  surroundings.read_file = [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? std::optional<std::string>() : std::optional<std::string>(file->second);
  };
  for (const sim::launch::ShellCommand& command : sim::launch::read_shell(script, "train.sh", surroundings).commands) {
    text += text.empty() ? "" : "\n";
    for (const sim::launch::Word& word : command.words)
      text += (&word == command.words.data() ? "" : "|") + word.text +
              (word.unknown.empty() ? "" : "<" + word.unknown + ">");
  }
  return text;
}

std::string refusal(const std::string& script) {
  return error_of([&] { sim::launch::read_shell(script, "train.sh"); });
}

}  // namespace

TEST_CASE("words are cut, quoted and joined as by a shell") {
  CHECK(commands_of("run a 'b c' \"d  e\" f\\ g") == "run|a|b c|d  e|f g");
  CHECK(commands_of("run a \\\n  b # c\nrun d;run e & run f") == "run|a|b\nrun|d\nrun|e\nrun|f");
  CHECK(commands_of("run > out.txt 2>&1 < in.txt last") == "run|last");
  CHECK(commands_of("run a#b '#c'") == "run|a#b|#c");
  CHECK(commands_of("run \"it's\" 'say \"x\"'") == "run|it's|say \"x\"");
}

TEST_CASE("variables, defaults and arrays are expanded") {
  CHECK(commands_of("A=8; B=\"$A x\"\nrun $A ${A}b \"$B\" $B '$A'") == "run|8|8b|8 x|8|x|$A");
  CHECK(commands_of("run ${A:-8} ${A-9} ${A:+no} end") == "run|8|9|end");
  CHECK(commands_of("A=; run ${A:-8} ${A-9} \"$A\" $A end") == "run|8||end");
  CHECK(commands_of("A=1; run ${A:+yes} ${A:?needed}") == "run|yes|1");
  CHECK(commands_of(": ${A:=5}; run $A") == "run|5");
  CHECK(commands_of("X=(a 'b c' # none\n  d)\nX+=(e)\nrun \"${X[@]}\" ${#X[@]} ${X[1]}") == "run|a|b c|d|e|4|b c");
  CHECK(commands_of("A=x; A+=y; export B=$A; run $B") == "run|xy");
  CHECK(commands_of("run $NONE ${1} \"$2\"") == "run|$NONE<$NONE>|${1}<${1}>|$2<$2>");
  CHECK(commands_of("run $SLURM_NNODES", {{"SLURM_NNODES", "4"}}) == "run|4");
}

TEST_CASE("arithmetic is worked out, and other commands are not run") {
  CHECK(commands_of("A=8;B=4; run $((A*B)) $(( $A / ${B} + 1 )) $(((A-B)%3)) $((A>B ? 7 : 9))") == "run|32|3|1|7");
  CHECK(commands_of("A=8; run `expr $A / 2` $(echo a b)") == "run|4|a|b");
  CHECK(commands_of("run $((1/0)) $(nproc)") == "run|$((1/0))<$((1/0))>|$(nproc)<$(nproc)>");
  CHECK(commands_of("A=B; B=A; run $((A))") == "run|$((A))<$((A))>");
}

TEST_CASE("branches whose tests are known are taken, and others leave their variables unknown") {
  CHECK(commands_of("A=2; if [ $A -gt 1 ]; then B=x; else B=y; fi; run $B") == "run|x");
  CHECK(commands_of("if [[ \"$A\" == \"1\" ]]; then B=x; elif [ -z \"$C\" ]; then B=y; fi; run $B") == "run|y");
  CHECK(commands_of("B=x; if [ -f /etc/none ]; then B=y; fi; run $B") == "run|$B<$B>");
  CHECK(commands_of("B=x; if [ -f /etc/none ]; then B=x; fi; run $B") == "run|x");
  CHECK(commands_of("M=big; case $M in small) N=1;; b*) N=2;; esac; run $N") == "run|2");
  CHECK(commands_of("[ -n \"$A\" ] && B=x || B=y; run $B") == "run|y");
  CHECK(commands_of("while [[ $# -gt 0 ]]; do shift; done; run a") == "run|a");
}

TEST_CASE("a test that ends the script with an error says what its user sets, and the script is followed beyond") {
  CHECK(commands_of("if [ -z \"$DATA\" ]; then echo set DATA; exit 1; fi\nrun a") == "echo|set|DATA\nrun|a");
  CHECK(commands_of("[ -n \"$DATA\" ] || exit 1\nrun a") == "run|a");
  CHECK(commands_of("if [ -f x ]; then A=1; else exit 2; fi\nrun $A") == "run|1");
  CHECK(commands_of("if [ ! -d x ]; then A=1; exit 2; fi\nA=3; run $A") == "run|3");
  CHECK(commands_of("if [ 1 = 1 ]; then run a; exit 0; fi\nrun b") == "run|a");
  CHECK(commands_of("run a; exit 1; run b") == "run|a");
}

TEST_CASE("scripts and templates beside a script are read, with their arguments") {
  const std::map<std::string, std::string> files{
      {"env.sh", "A=7; B=${B:-2}"}, {"go.sh", "run $1 $2 $# \"$@\""}, {"t.json", "{a: SIZE, b: SIZE}\nSIZE"}};
  CHECK(commands_of("source env.sh; run $A $B", {}, files) == "run|7|2");
  CHECK(commands_of(". none.sh; run a", {}, files) == "run|a");
  CHECK(commands_of("bash go.sh x y; run $1", {}, files) == "run|x|y|2|x|y\nrun|$1<$1>");
  CHECK(commands_of("go() { run \"$@\" $1; shift; run \"$1\" $#; }\ngo a 'b c'") == "run|a|b c|a\nrun|b c|1");
  CHECK(commands_of("run a \"$@\"") == "run|a");
  sim::launch::ShellSurroundings beside;
  beside.read_file = [&](const std::string& path) {
    return files.count(path) > 0 ? std::optional<std::string>(files.at(path)) : std::nullopt;
  };
  const auto written = [&](const std::string& script, const std::string& name) {
    return sim::launch::read_shell(script, "train.sh", beside).written_files.at(name);
  };
  CHECK(written("N=4; sed \"s/SIZE/$N/g\" t.json | sed s/a/c/ > out", "out").text == "{c: 4, b: 4}\n4");
  CHECK(written("cat t.json > out; sed -i s/SIZE/5/ out", "out").text == "{a: 5, b: SIZE}\n5");
  CHECK(written("sed 's/[A-Z]*/5/' t.json > out", "out").unknown == "sed s/[A-Z]*/5/");
}

TEST_CASE("loops over known words are followed, and functions where they are called") {
  CHECK(commands_of("for i in 1 2; do run $i; done") == "run|1\nrun|2");
  CHECK(commands_of("A=; for x in $UNKNOWN; do A=$x; done; run $A") == "run|$A<$A>");
  CHECK(commands_of("go() { run $1 a; }\nrun b\ngo\ngo c") == "run|b\nrun|$1<$1>|a\nrun|c|a");
  CHECK(commands_of("CMD=\"run a 'b c'\"; eval $CMD; $CMD") == "run|a|b c\nrun|a|'b|c'");
}

TEST_CASE("here-documents are kept with the file that they write") {
  const auto script =
      sim::launch::read_shell("N=4\ncat <<EOF > ds.json\n{\"a\": $N}\nEOF\ncat > raw <<'X'\n$N\nX\n", "train.sh");
  CHECK(script.written_files.at("ds.json").text == "{\"a\": 4}\n");
  CHECK(script.written_files.at("raw").text == "$N\n");
}

TEST_CASE("a file with two texts under a test that is not known is not known") {
  const std::string write = "cat <<E > f\n1\nE\nelse cat <<E > f\n";
  const auto unknown = [&](const std::string& second) {
    const std::string script = "if grep a b; then " + write + second + "\nE\nfi";
    return sim::launch::read_shell(script, "train.sh").written_files.at("f").unknown;
  };
  CHECK(unknown("2") == "which of its texts is written");
  CHECK(unknown("1").empty());
}

TEST_CASE("scripts that no shell reads, or that never end, are refused with their line") {
  CHECK(refusal("A=\"x\nrun") == "train.sh:1: a quote is not closed: \"A=\"x\\nrun\"; close it");
  CHECK_THAT(refusal("run\nrun $(a"), Contains("train.sh:2: a bracket is not closed"));
  CHECK_THAT(refusal("f() { f; }\nf"), Contains("nested deeper than 64"));
  CHECK_THAT(refusal("if true; then a"), Contains("expected \"fi\""));
  CHECK_THAT(refusal("cat <<EOF\nx"), Contains("does not end"));
  std::string doubling = "A=xxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK_THAT(refusal(doubling), Contains("more than 256 KiB"));
  CHECK_THAT(refusal(std::string(2 << 20, 'x')), Contains("allowed: up to 1 MiB"));
}

TEST_CASE("patterns of layers are those of Python") {
  using sim::launch::python_list;
  CHECK(python_list("([0]*3+[1]*2)*2") == std::vector<int>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1});
  CHECK(python_list("[1, 0]") == std::vector<int>{1, 0});
  CHECK_FALSE(python_list("[1]*100000000"));
  CHECK_FALSE(python_list("import os"));
}

}  // namespace lockstep::tests
