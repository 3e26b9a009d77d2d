// Output of functions and filters, read, tables, operators on values, and scripts that a script starts.
#include <map>

#include "sim/launch/shell.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

// Returns the words of every command, separated by "|". Unknown parts are in angle brackets after their word.
std::string words_of(const std::string& script, const std::map<std::string, std::string>& files = {}) {
  sim::launch::ShellSurroundings surroundings;
  surroundings.read_file = [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? std::optional<std::string>() : std::optional<std::string>(file->second);
  };
  std::string text;
  for (const sim::launch::ShellCommand& command : sim::launch::read_shell(script, "train.sh", surroundings).commands) {
    text += text.empty() ? "" : "\n";
    for (const sim::launch::Word& word : command.words)
      text += (&word == command.words.data() ? "" : "|") + word.text +
              (word.unknown.empty() ? "" : "<" + word.unknown + ">");
  }
  return text;
}

const std::string kArguments =
    " p.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings "
    "2048 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 --tensor-model-parallel-size ";

}  // namespace

TEST_CASE("the output of functions, echo, printf, cat and filters is known; that of programs is not") {
  CHECK(words_of("f() { echo --a $1; echo --b; }\nrun $(f 7)") == "run|--a|7|--b");
  CHECK(words_of("A=$(cat <<E\n--a 1\n--b $NONE\nE\n)\nrun $A") == "run|--a|1|--b|$NONE<$NONE>");
  CHECK(words_of("run $(printf '%s-%03d' x 7) \"$(echo 'a  b')\"") == "run|x-007|a  b");
  CHECK(words_of("run $(echo 0,1,2 | tr ',' '\\n' | wc -l) $(echo a:b:c | cut -d: -f2) $(seq 1 3)") == "run|3|b|1|2|3");
  CHECK(words_of("run $(basename /a/b.sh .sh) $(dirname /a/b) $(echo 'a\nb' | head -n 1)") == "run|b|/a|a");
  CHECK(words_of("run $(f) $(python3 a.py)") == "run|$(f)<$(f)>|$(python3 a.py)<$(python3 a.py)>");
  CHECK(words_of("f() { echo 1; python3 a.py; }\nrun $(f)") == "run|$(f)<$(f)>");
  CHECK(words_of("f() { if [ -f x ]; then echo 1; fi; }\nrun $(f)") == "run|$(f)<$(f)>");
  CHECK(words_of("A=1; f() { A=2; echo $A; echo error >&2; }\nrun $(f) $A") == "run|2|1");
  CHECK(words_of("f() { run $(f); }\nrun $(f)") == "run|$(f)<$(f)>");  // ends
}

TEST_CASE("read takes here-documents and here-strings, and splits at IFS") {
  CHECK(words_of("read -r -d '' cmd <<E\nrun a \\\n b\nE\neval \"$cmd\"") == "run|a|b");
  CHECK(words_of("IFS=, read -r A B <<< 1,2,3\nrun $A $B \"$IFS\"") == "run|1|2,3|$IFS<$IFS>");
  CHECK(words_of("read A B <<< '1 2'\nrun $A $B") == "run|1|2");
  CHECK(words_of("IFS=: read -ra A <<< 1:2\nrun ${A[1]} ${#A[@]}") == "run|2|2");
  CHECK(words_of("read -p 'how many? ' A\nrun $A") == "run|$A<$A>");
  CHECK(words_of("IFS=$'\\n'\nA='a b\nc'\nrun $A") == "run|a b|c");
}

TEST_CASE("associative arrays, indirect names and operators on values") {
  CHECK(words_of("declare -A D=( [a]=1 [b]='2 3' )\nD[c]=4; K=c\nrun ${D[a]} \"${D[b]}\" ${D[$K]} ${D[x]:-5}") ==
        "run|1|2 3|4|5");
  CHECK(words_of("A=(1 2 3); A[1]=9\nrun ${A[1]} ${A[@]:1:2} \"${A[@]:2}\"") == "run|9|9|3|3");
  CHECK(words_of("f() { run \"${@:2}\"; }\nf a b 'c d'") == "run|b|c d");
  CHECK(words_of("S=a-b-c; run ${S#*-} ${S##*-} ${S%-*} ${S%%-*} ${S:2:1} ${S: -1}") == "run|b-c|c|a-b|a|b|c");
  CHECK(words_of("S=a-b-c; V=S; run ${S/-/+} ${S//-/} ${S^^} ${S^} ${!V} ${#S}") ==
        "run|a+b-c|abc|A-B-C|A-b-c|a-b-c|5");
  CHECK(words_of("S=a; run ${S%[x]} ${N#*-}") == "run|a|${N#*-}<${N#*-}>");
}

TEST_CASE("assignments in arithmetic, let and printf -v") {
  CHECK(words_of("(( A = 2 * 4, B = A + 1 )); let C=A*2 'D = 3'; ((A += 1)); ((D++))\nrun $A $B $C $D") ==
        "run|9|9|16|4");
  CHECK(words_of("printf -v A -- '--n %d' 3\nrun $A $((2**10))") == "run|--n|3|1024");
  CHECK(words_of("N=(4 8)\nrun $(( ${N[1]} * ${#N[@]} ))") == "run|16");
  CHECK(words_of("for A in {1..3} {a,b}; do run $A; done; run \"{1..2}\" {a}") ==
        "run|1\nrun|2\nrun|3\nrun|a\nrun|b\nrun|{1..2}|{a}");
  CHECK(words_of("f() { shift 2; run $1; }\nf a b c") == "run|c");
}

TEST_CASE("scripts that a script starts are followed, with the launcher before them") {
  const std::map<std::string, std::string> files{{"./x.sh", "run $1\n"}, {"x.sh", "run $1\n"}};
  CHECK(words_of("srun -N 2 bash x.sh 3", files) == "srun|-N|2|run|3");
  CHECK(words_of("srun -N 2 ./x.sh 3", files) == "srun|-N|2|run|3");
  CHECK(words_of("./x.sh 4", files) == "run|4");
  CHECK(words_of("exec ./x.sh 5", files) == "run|5");
  CHECK(words_of("srun -N 2 bash -c 'cd d; ./x.sh 3'", files) == "srun|-N|2|cd|d\nsrun|-N|2|run|3");
  CHECK(words_of("srun -N 2 singularity exec i.sif bash x.sh 3", files) == "srun|-N|2|singularity|exec|i.sif|run|3");
  CHECK(words_of("cat > y.sh <<E\nrun \\$1 $NONE\nE\nchmod +x y.sh\n./y.sh 6") ==
        "cat\nchmod|+x|y.sh\nrun|6|$NONE<$NONE>");
  CHECK(words_of("echo run a > y.sh\necho run b >> y.sh\nbash y.sh") == "echo|run|a\necho|run|b\nrun|a\nrun|b");
  CHECK(words_of("sbatch -N 2 --wrap='run 7'") == "run|7");
  CHECK(words_of("ssh -p 22 host \"cd /a; run 8\"") == "cd|/a\nrun|8");
  CHECK_THAT(error_of([] { launched_text("srun ./none.sh\n"); }),
             Contains("a script that is not there: ./none.sh (line 1)"));
  CHECK(option_of(launched_text("sbatch -N 2 --wrap 'torchrun --nproc_per_node 8" + kArguments + "2'\n"), "--gpus") ==
        "16");
}

TEST_CASE("the example of shell forms describes one job") {
  const sim::LaunchedJob job = launched("megatron_shell_forms.sh");
  CHECK(option_of(job, "--model") == "llama3_8b@8192");
  CHECK(option_of(job, "--gpus") == "16");
  CHECK(option_of(job, "--tensor") == "2");
  CHECK(option_of(job, "--tokens") == std::to_string(1000LL * 1000 / 128 * 128 * 8192));
}

TEST_CASE("machines: glued options, ranges of nodes, processes per node") {
  const std::string srun = "srun -N4 -n32 python" + kArguments;
  CHECK(option_of(launched_text(srun + "2\n"), "--gpus") == "32");
  CHECK(option_of(launched_text(srun + "2\n"), "--gpus-per-node") == "8");
  CHECK(option_of(launched_text("mpirun -np 16 --map-by ppr:8:node python" + kArguments + "2\n"), "--gpus-per-node") ==
        "8");
  const sim::LaunchedJob range =
      launched_text("#SBATCH --nodes=2-4\ntorchrun --nproc_per_node 8 --nnodes $SLURM_NNODES" + kArguments + "2\n");
  CHECK(option_of(range, "--gpus") == "absent");
  const std::string inner =
      "#SBATCH -N 2\nread -r -d '' cmd <<E\ntorchrun --nnodes \\$SLURM_NNODES --nproc_per_node 8" + kArguments +
      "2\nE\nsrun bash -c \"$cmd\"\n";
  CHECK(option_of(launched_text(inner), "--gpus") == "16");
}

TEST_CASE("the output of a program may hold any argument") {
  const std::string command = "torchrun --nproc_per_node 8" + kArguments + "2 $(python3 get_args.py)\n";
  const std::string needed = needed_of(launched_text(command));
  CHECK_THAT(needed, Contains("--sharding") && Contains("--recompute") && Contains("--pipeline"));
  CHECK(needed.find("--tensor") == std::string::npos);
  const std::string model =
      "A=$(python3 model.py)\ntorchrun --nproc_per_node 8 p.py $A --micro-batch-size 1 "
      "--global-batch-size 8 --bf16\n";
  CHECK(option_of(launched_text(model), "--model") == "absent");
  const TemporaryFolder folder;
  const Outcome run = run_program(folder.path(""), "simulate", "job --gpu H100 --from " + folder.write("m.sh", model));
  CHECK_THAT(run.err, Contains("$(python3 model.py) (") && Contains("m.sh:1) cannot be evaluated"));
}

}  // namespace lockstep::tests
