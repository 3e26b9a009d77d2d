#!/bin/sh
# lockstep_completion.sh bash|zsh FOLDER PROGRAM...: completion of the command lockstep, from that of its programs, which
# FOLDER has (PROGRAM for bash, _PROGRAM for zsh). Prints it.
set -eu
shell=$1 folder=$2
shift 2
if [ "$shell" = bash ]; then
  echo '# bash completion of lockstep, made from the options of its programs'
  for program in "$@"; do grep -v '^complete ' "$folder/$program"; done
  cat <<END
_lockstep() {
  if [ "\$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=(\$(compgen -W '$* --help --version' -- "\${COMP_WORDS[1]}"))
    return
  fi
  declare -F "_lockstep_\${COMP_WORDS[1]}" >/dev/null || return
  COMP_WORDS=("\${COMP_WORDS[@]:1}")
  COMP_CWORD=\$((COMP_CWORD - 1))
  "_lockstep_\${COMP_WORDS[0]}"
}
complete -o filenames -F _lockstep lockstep
END
else
  echo '#compdef lockstep'
  echo '# zsh completion of lockstep, made from the options of its programs'
  for program in "$@"; do
    echo "_lockstep_$program() {"
    grep -v '^#compdef' "$folder/_$program"
    echo '}'
  done
  cat <<END
if (( CURRENT == 2 )); then
  compadd $* --help --version
else
  shift words
  (( CURRENT-- ))
  (( \$+functions[_lockstep_\${words[1]}] )) && _lockstep_\${words[1]}
fi
END
fi
