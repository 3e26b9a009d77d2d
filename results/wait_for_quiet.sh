# For scripts that measure: `. results/wait_for_quiet.sh`.
# wait_for_quiet: waits while others' work of the last minute is a quarter of a core or more (ANY_LOAD=1: it does not).
wait_for_quiet() {
  [[ ${ANY_LOAD:-0} == 1 ]] && return
  until awk '{exit !($1 < 0.25)}' /proc/loadavg; do
    echo "$(basename "$0"): waits, the load is $(cut -d' ' -f1 /proc/loadavg); ANY_LOAD=1 does not" >&2
    sleep 15
  done
}
