// What changes variables, files and arguments: declarations, arithmetic, redirections, editors, patterns, braces. Scripts
// without unknowns are also run by bash, which must agree.
#include "tests/launch/corpus.hpp"
#include "tests/launch/shell_runs.hpp"

namespace lockstep::tests {

TEST_CASE("texts of files follow the commands that write them") {
  CHECK(agreed("echo 8 > t; TP=$(<t)\nrun $TP \"$(< t)\"") == "run|8|8\n");
  CHECK(agreed("echo -n a > t; echo -e 'b\\tc' >> t\nrun \"$(cat t)\"") == "run|ab\tc\n");
  CHECK(agreed("echo -ne 'a\\tb' > t; echo -en c >> t\nrun \"$(<t)\" \"$(echo -nE 'x\\t')\"") == "run|a\tbc|x\\t\n");
  CHECK(agreed("echo a > t; printf '%s-' b c > t\nrun \"$(<t)\"") == "run|b-c-\n");
  CHECK(agreed("echo a > t; cp t u; echo b > t; mv t v\nrun $(cat u v)") == "run|a|b\n");
  CHECK(agreed("echo a > t; echo b | tee t > /dev/null; echo c | tee -a t | cat > u\nrun $(cat t u)") == "run|b|c|c\n");
  CHECK(agreed("echo a > t; { echo b; echo c; } > t; > u\nrun $(cat t u)") == "run|b|c\n");
  CHECK(runs_of("echo a > t; python gen.py > t\nrun $(cat t)") == "run|$(cat t)<$(cat t)>\n");
  CHECK(runs_of("run $(<t)", {{"t", "x"}}) == "run|x\n");
  CHECK(runs_of("cp u t\nrun $(<t)", {{"t", "x"}}) == "run|$(<t)<$(<t)>\n");
}

TEST_CASE("sed edits every file, and an edit that is not understood leaves its text unknown") {
  const Files files{{"f", "tp: 1\npp: 1\n"}, {"g", "a 1\n"}};
  CHECK(agreed("sed -i 's/1/4/' f g\nrun $(cat f) $(cat g)", files) == "run|tp:|4|pp:|4|a|4\n");
  CHECK(agreed("sed -i.bak -e 's/t./x/' f\nrun $(cat f)", files) == "run|x:|1|pp:|1\n");
  for (const std::string edit : {"'/tp:/s/1/8/'", "'2s/1/8/'", "'/tp/d'", "-e '1d'", "-n 's/1/8/p'"})
    CHECK_THAT(runs_of("sed -i " + edit + " f\nrun $(cat f)", files), Contains("<"));
  CHECK_THAT(runs_of("[ -f /data/x ] && sed -i 's/1/8/' f\nrun $(cat f)", files), Contains("<"));
}

TEST_CASE("declarations set the names that they expand to, and last as long as their function") {
  CHECK(agreed("TP=8\nf() { local TP=2; run $TP; }\nf\nrun $TP") == "run|2\nrun|8\n");
  CHECK(agreed("TP=8\nf() { declare TP=2; local PP; run $TP \"${PP:-none}\"; g; }\ng() { TP=3; PP=4; run $TP; }\n"
               "PP=1\nf\nrun $TP $PP") == "run|2|none\nrun|3\nrun|8|1\n");
  CHECK(agreed("f() { declare -g TP=2; PP=3; }\nf\nrun $TP $PP") == "run|2|3\n");
  CHECK(
      agreed("v=TP\nset_it() { declare -g $1=\"$2\"; }\nset_it $v 8\nexport \"PP=4\" \"$v$v=5\"\nrun $TP $PP $TPTP") ==
      "run|8|4|5\n");
  CHECK(agreed("f() { local i; for i in 1 2; do :; done; }\ni=7; f; run $i") == "run|7\n");
  CHECK(agreed("f() { local A=(1 2); local -A T=([x]=1); run ${A[1]} ${T[x]}; }\nA=(5 6)\nf\nrun ${A[1]}") ==
        "run|2|1\nrun|6\n");
  CHECK(agreed("f() ( TP=2; run $TP )\nTP=8; f; run $TP") == "run|2\nrun|8\n");
}

TEST_CASE("arithmetic assigns wherever it is expanded") {
  CHECK(agreed("i=1; run $((i++)) $((++i)) $((i--)); run $i") == "run|1|3|3\nrun|2\n");
  CHECK(agreed("N=1; : $((N+=1)); A=$((N*=3)); run $N $A; ((N -= 1)) && run $N") == "run|6|6\nrun|5\n");
  CHECK(agreed("i=0; ((i++)) || run zero; ((i++)) && run one; run $((i = 5, i + 1)) $i") ==
        "run|zero\nrun|one\nrun|6|5\n");
  CHECK(runs_of("N=1; ((N <<= 1)); run $N") == "run|$N<$N>\n");
  CHECK(runs_of("N=1; A=(3 4); x=$(( (N++) + 1 )); ((A[0]++)); run $N $A") == "run|$N<$N>|$A<$A>\n");
  CHECK(runs_of("N=1; [ -f /data/x ] && : $((N++)); run $N") == "run|$N<$N>\n");
}

TEST_CASE("all arguments or elements between quotes are one word") {
  CHECK(agreed("A=(a 'b c' d); run \"${A[*]}\" \"x ${A[*]} y\" \"${A[*]:1}\"") == "run|a b c d|x a b c d y|b c d\n");
  CHECK(agreed("f() { run \"$*\" \"${*}\" \"${*:2}\" $#; }\nf a 'b c'") == "run|a b c|a b c|b c|2\n");
  CHECK(agreed("A=(1 2 3); IFS=,\nrun \"${A[*]}\"") == "run|1,2,3\n");
}

TEST_CASE("the name of an array alone is its first element") {
  CHECK(agreed("A=(n1 n2); run $A \"$A\" ${A} x$A; B=$A; run $B") == "run|n1|n1|n1|xn1\nrun|n1\n");
}

TEST_CASE("arguments beyond the ninth, and those that a sourced script shares") {
  CHECK(agreed("f() { run ${10} ${11:-none} $#; }\nf 1 2 3 4 5 6 7 8 9 a") == "run|a|none|10\n");
  const Files files{{"s.sh", "run $1 $#\n"}, {"t.sh", "set -- z\n"}};
  CHECK(agreed("set -- a b\n. ./s.sh x\nrun $1\n. ./s.sh\n. ./t.sh\nrun $1", files) ==
        "run|x|1\nrun|a\nrun|a|2\nrun|z\n");
}

TEST_CASE("what an unknown test may change is unknown") {
  const std::string test = "[ -f /data/x ] && ";
  CHECK(runs_of("A=1; " + test + "unset A; run $A") == "run|$A<$A>\n");
  CHECK(runs_of("set -- a b; " + test + "shift; run $1") == "run|$1<$1>\n");
  CHECK(runs_of("set -- a b; " + test + "set -- c; run $1") == "run|$1<$1>\n");
  CHECK(runs_of(test + ": ${A:=8}; run $A") == "run|$A<$A>\n");
  CHECK(runs_of("f() { A=1; }\n" + test + "f() { A=2; }\nf; run $A") == "run|$A<$A>\n");
  CHECK(runs_of("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; run $i") == "run|$i<$i>\n");
}

TEST_CASE("patterns are those of bash") {
  const std::string is = "[[ $A == ";
  for (const std::string pattern : {"[a-c]*", "[!a-c]*", "x[0-9]", "x[^5]", "\"x*\"", "x\\*", "'x'?", "[x]5", "*[45]"})
    for (const std::string value : {"x5", "b", "'x*'", "x4"})
      agreed("A=" + value + "; if " + is + pattern + " ]]; then run yes; else run no; fi; case $A in " + pattern +
             ") run yes;; *) run no;; esac");
  CHECK(agreed("A='a*'; [ ab = \"a*\" ] || run no; [[ ab == $A ]] && run yes; [[ ab == \"$A\" ]] || run no") ==
        "run|no\nrun|yes\nrun|no\n");
  CHECK(runs_of("A=1; [[ $A == [[:digit:]] ]] && B=2; run $B") == "run|$B<$B>\n");
  CHECK(agreed("A=a-b-a; run ${A/#a/x} ${A/%a/y} ${A/#b/x} ${A/[ab]/z} ${A//[!a]/_} ${A/#/p} ${A##*[-]}") ==
        "run|x-b-a|a-b-y|a-b-a|z-b-a|a___a|pa-b-a|a\n");
}

TEST_CASE("tests that bash refuses are false") {
  CHECK(agreed("[ \"$X\" -le 8 ] && run yes; [[ $X -le 8 ]] && run double") == "run|double\n");
  CHECK(agreed("[ -n $X ] && run a; [ -z $X ] && run b; [ $X != 0 ] && run c; [ \"$X\" != 0 ] && run d") ==
        "run|a\nrun|b\nrun|d\n");
  CHECK(agreed("[ $# -eq 0 ] && run a; true; [ $? -eq 0 ] && run b; [ = 8 ] || run c") == "run|a\nrun|b\nrun|c\n");
}

TEST_CASE("braces give words as in bash") {
  CHECK(agreed("run node{1..3} {4..1} {1..9..2} {01..04} {a,b}{1,2} x{a,{b,c}}y {a} {} {-1..1} {c..a}") ==
        "run|node1|node2|node3|4|3|2|1|1|3|5|7|9|01|02|03|04|a1|a2|b1|b2|xay|xby|xcy|{a}|{}|-1|0|1|c|b|a\n");
  CHECK(agreed("A=1; run {\"a,b\",c} '{a,b}' ${A}{x,y} --n={1,2}") == "run|a,b|c|{a,b}|1x|1y|--n=1|--n=2\n");
}

TEST_CASE("loops that count, break of several loops, and glued options") {
  CHECK(agreed("for ((i = 0; i < 3; i++)); do run $i; done; run $i") == "run|0\nrun|1\nrun|2\nrun|3\n");
  CHECK(agreed("for ((i=4; i>0; i-=2)) { run $i; }\nfor ((j=0; j<9; j++)); do [ $j = 2 ] && break; done; run $i $j") ==
        "run|4\nrun|2\nrun|0|2\n");
  CHECK(agreed("for i in 1 2; do for j in 1 2; do run $i $j; [ $j = 1 ] && continue 2; run no; done; done") ==
        "run|1|1\nrun|2|1\n");
  CHECK(agreed("for i in 1 2; do while [ 1 = 1 ]; do [ $i = 1 ] && break 2; done; run no; done; run $i") == "run|1\n");
  CHECK(runs_of("for ((i = 0; i < N; i++)); do x=$i; done; run $i") == "run|$i<$i>\n");
  CHECK(
      agreed(
          "f() { while getopts 't:vx' o; do case $o in t) run $OPTARG;; *) run $o;; esac; done; }\nf -vxt4 -v -t 5") ==
      "run|v\nrun|x\nrun|4\nrun|v\nrun|5\n");
  const Files files{{"a/x.sh", "run a\n"}, {"x.sh", "run x\n"}};
  CHECK(runs_of("pushd a\npopd\nbash x.sh", files) == "run|x\n");
}

TEST_CASE("a loop inside a pipe may read a file of its own") {
  CHECK(agreed(
            "printf 'x\\ny\\n' > f\nprintf 'a\\nb\\n' | while read A; do while read B; do run $A $B; done < f; done") ==
        "run|a|x\nrun|a|y\nrun|b|x\nrun|b|y\n");
  CHECK(agreed("echo a | { { read A; run $A; } <<< b; read A; run $A; }") == "run|b\nrun|a\n");
}

TEST_CASE("words, comments and here-documents inside substitutions close no bracket") {
  CHECK(agreed("echo 1 > case.txt\nrun $(cat case.txt) $(echo in case; echo esac)") == "run|1|in|case|esac\n");
  CHECK(agreed("A=$(\n# it's (a comment\necho 1 # don't\n)\nrun $A") == "run|1\n");
  CHECK(agreed("A=$(cat <<E\nit's (1\nE\n)\nrun $A") == "run|it's|(1\n");
  CHECK(agreed("A=$(cat <<'E'; echo 2\n)\nE\n)\nrun $A $( ((x = 1 + 2)); echo $x)") == "run|)|2|3\n");
  CHECK(agreed("cat > f <<-E\n\ta\n\t\tb\n\tE\ncat > g <<E\n\tE\nE\nrun \"$(cat f)\" \"$(cat g)\"") ==
        "run|a\nb|\tE\n");
}

TEST_CASE("names of files and folders") {
  CHECK(agreed("run $(dirname -- /a/b) $(basename -- /a/b.sh .sh) $(dirname b)") == "run|/a|b|.\n");
}

}  // namespace lockstep::tests
