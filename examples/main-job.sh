#!/usr/bin/env bash
# The main job, as `make run` does it: a host with two MCP servers, a program that calls both, parks, and is waited for.
#
# Every step is a command that you can type yourself. Run it from anywhere after `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."

codecell=${CODECELL_BINARY:-bin/codecell}
config=examples/codecell.json5
export PATH="$PWD/e2e/node_modules/.bin:$PATH" # the Node that the servers run on, where `make setup` brought one

work=$(mktemp -d)
host= tail=
finish() {
  local status=$?
  trap - EXIT
  for process in $tail $host; do
    kill -TERM "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if ((status != 0)) && [[ -s $work/host.log ]]; then
    echo "--- the host's log" >&2
    cat "$work/host.log" >&2
  fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 ]] || say() { printf '\n%s\n' "$*"; }

# within SECONDS COMMAND...: repeats the command until it succeeds, or fails when the time is over.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}

say "1. Start a host: an embedded bus, open to this machine only, and the MCP servers of $config"
mkfifo "$work/ready"
"$codecell" up --config "$config" --listen 127.0.0.1:0 --json >"$work/ready" 2>"$work/host.log" &
host=$!
exec 3<"$work/ready"
if ! read -r -t 120 ready <&3; then
  echo "the host did not become ready" >&2
  exit 1
fi
CODECELL_BUS=$(grep -oE 'nats://[^" ]+' <<<"$ready" | head -n 1)
export CODECELL_BUS # so that the commands below find the host
echo "ready at $CODECELL_BUS"
"$codecell" tools

# Watch the feed from another process: that is where the timeline at the end comes from.
"$codecell" tail >"$work/timeline" 2>"$work/tail.log" &
tail=$!
within 10 test -s "$work/tail.log" # it says there that it listens

say "2. Run examples/quickstart.js until it yields"
status=0
"$codecell" exec --title "Weekly report of the roastery" examples/quickstart.js 2>&1 | tee "$work/first" || status=$?
if ((status != 3)); then
  echo "expected a parked cell (exit code 3), got exit code $status" >&2
  exit 1
fi
run=$(grep -oE '[a-z2-7]{10}-[a-z2-7]{26}' "$work/first" | head -n 1)

say "3. Wait for it: codecell wait $run"
"$codecell" wait "$run"

say "4. What happened, from the feed"
within 10 grep -qE 'cell\.ended' "$work/timeline"
sort -s -k1,1 "$work/timeline" # host and executors tell it each for themselves
