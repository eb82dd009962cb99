#!/usr/bin/env bash
# The steps of `./dev test` and in what order they are done; dev reads this file and calls test_once, test_rest, test_full.
# `record` names the file where counts are added up, `full` says whether --full was asked for, and `pace` how long steps take
# here, in percent of their minutes.
# shellcheck disable=SC2154 # dev sets what is not set here
set -euo pipefail

rings() { "$python" "$here/tests/rings.py" "$@"; }

# ring PRESET LABEL [ARGS]: one ring in one build.
ring() {
  local preset=$1 label=$2 name=$2
  shift 2
  [[ $preset == release ]] || name="$label, $preset"
  local command=("$python" "$here/tests/rings.py" ring --record "$record" --build "$(build_dir "$preset")"
    --label "$label")
  [[ $preset != tsan ]] || command=(setarch "$(uname -m)" -R "${command[@]}")
  "${command[@]}" --name "$name" "$@"
}

# Rings that meet the kernel: what root may and what an ordinary user may differ, so both are tested.
ring_as_other_user() {
  local label=$1
  shift
  ((EUID != 0)) || ring release "$label" "$@" --name "$label, user $test_uid" --uid "$test_uid"
}

ring_for_all_users() {
  ring release "$@"
  ring_as_other_user "$@"
}

# in_machine NAME KERNEL USER LABEL [NAME=VALUE]: one ring in a virtual machine (tests/cgroup/vm).
in_machine() {
  local name=$1 kernel=$2 user=$3 label=$4 seconds=900 share obstacle status=0
  shift 4
  # A thousand jails, and the third-party bombs, take minutes each on an emulated processor.
  [[ $full == no ]] || seconds=3600
  if ! obstacle=$("$here/tests/cgroup/vm" --check --kernel "$kernel" --as "$user"); then
    rings skip --record "$record" --name "$name" --ring "${label%%_*}" --reason "no virtual machine: $obstacle"
    return 0
  fi
  share=$(mktemp -d)
  chmod 0777 "$share" # the guest's user writes what it counted there
  say "$name: starting a virtual machine with Linux $kernel"
  "$here/tests/cgroup/vm" --kernel "$kernel" --as "$user" --results "$share" --timeout "$seconds" -- \
    env JAIL_TEST_TIME_SCALE=30 "$@" "$python" "$here/tests/rings.py" ring --record "$share/record" \
    --build "$(build_dir release)" --label "$label" --name "$name" || status=$?
  if ((status == 0)) && [[ -s $share/record ]]; then
    cat "$share/record" >>"$record"
  else
    rings fail --record "$record" --name "$name" --reason "the virtual machine ended with status $status"
  fi
  rm -rf "$share"
}

# rings_in_machine KERNEL [NAME=VALUE]: as guest root, as a user with a delegated cgroup, with systemd.
rings_in_machine() {
  local kernel=$1 user
  shift
  for user in root user; do
    in_machine "cgroup, Linux $kernel, $user" "$kernel" "$user" cgroup "$@"
  done
  in_machine "systemd, Linux $kernel" "$kernel" systemd systemd "$@"
}

# The bombs among the hostile programs of others, under limits by cgroup v2.
corpus_in_machine() {
  local user
  for user in root user; do
    in_machine "hostile programs, Linux $1, $user" "$1" "$user" cgroup_corpus
  done
}

# program_sets NAME ROOT [ARGS]: the recorded programs on one root; ARGS go to tests/programs/run.py.
program_sets() {
  local sets=${AGENT_SANDBOX_PROGRAMS:-$here/../shared/data} name=$1 root=$2
  shift 2
  if [[ -d $sets ]]; then
    rings command --record "$record" --name "$name" --build "$(build_dir release)" -- \
      "$python" "$here/tests/programs/run.py" --rootfs "$root" \
      "$@" "$(build_dir release)/server/cli/agent-sandbox" "$sets"
  else
    rings skip --record "$record" --name "$name" --ring programs \
      --reason "no program sets at $sets; name their directory by AGENT_SANDBOX_PROGRAMS"
  fi
}

# npm_packages RING DIRECTORY: third-party packages of a ring, pinned by its lock file, beside the builds.
# Where they cannot be installed, the tests that need them are skipped, and say so.
npm_packages() {
  local dir from=$here/tests/$1
  if ! command -v npm >/dev/null; then
    say "npm is missing, so tests of the ring $1 with packages from npm are skipped (Debian: nodejs npm)"
    return 0
  fi
  dir=$(dirname "$(build_dir release)")/$2
  if [[ -e $dir/complete ]] && cmp -s "$from/package-lock.json" "$dir/package-lock.json"; then
    return 0
  fi
  say "installing the npm packages of the ring $1 in $dir"
  mkdir -p "$dir"
  rm -f "$dir/complete"
  cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$dir"
  if (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$dir/log" 2>&1; then
    : >"$dir/complete"
  else
    say "npm failed ($dir/log), so tests that need its packages are skipped: $(tail -n 1 "$dir/log")"
    rm -rf "$dir/node_modules"
  fi
}

npm_clients() {
  npm_packages api npm
  npm_packages llm npm-llm
}

host_programs_warm() { program_sets "programs, host's /usr, warm" host --template python; }

# Builds the root where it is not built yet, tests it and runs the recorded programs on it; on the host's /usr where it
# cannot be built.
test_built_root() {
  local status=0 started=$SECONDS
  "$here/rootfs/build" || status=$?
  say "rootfs/build took $((SECONDS - started)) s"
  AGENT_SANDBOX_ROOT=$("$here/rootfs/build" --where)
  export AGENT_SANDBOX_ROOT
  case $status in
    0)
      ring release rootfs
      program_sets "programs, built root" "$AGENT_SANDBOX_ROOT"
      ;;
    3)
      rings skip --record "$record" --name "rootfs and programs on it" --ring rootfs \
        --reason "the package archive cannot be reached, see above"
      host_programs_warm
      ;;
    *)
      rings fail --record "$record" --name rootfs --reason "rootfs/build ended with $status, see above"
      ;;
  esac
}

# The recorded programs in the ways that test_built_root has not gone.
test_programs_otherwise() {
  local root
  root=$("$here/rootfs/build" --where)
  if [[ -d $root ]]; then
    program_sets "programs, built root, template data" "$root" --template data
    host_programs_warm
  fi
  program_sets "programs, host's /usr, cold" host --template none
}

# has_all NAME RING PACKAGES: installs them as root; for any other user, adds a skip that names what is missing.
has_all() {
  local name=$1 ring=$2 absent=""
  shift 2
  if ((EUID == 0)); then
    need "$@"
  elif command -v dpkg-query >/dev/null; then
    absent=$(missing_packages "$@" | xargs)
  fi
  [[ -n $absent ]] || return 0
  rings skip --record "$record" --name "$name" --ring "$ring" --reason "not installed: $absent"
  return 1
}

# has_clang NAME RING: what is built with sanitizers is built by clang, tests and fuzzers from the same libraries.
has_clang() {
  has_all "$1" "$2" "${sanitizer_packages[@]}" || return 1
  command -v clang++ >/dev/null && return 0
  rings skip --record "$record" --name "$1" --ring "$2" --reason "no clang++"
  return 1
}

test_sanitized() {
  has_clang sanitizers unit || return 0
  configure sanitized
  compile sanitized tests/unit/all tests/golden/all tests/kernel/all
  ring sanitized unit --jobs "$(nproc)"
  ring sanitized golden --jobs "$(nproc)"
  ring sanitized kernel --jobs 2
}

# test_fuzzed SECONDS: runs each fuzzer for this time.
test_fuzzed() {
  has_clang fuzz fuzz || return 0
  configure sanitized
  compile sanitized fuzzers
  rings command --record "$record" --name "fuzz, $1 s each" -- "$python" "$here/tests/fuzz/run.py" \
    --build "$(build_dir sanitized)" --seconds "$1"
}

bench_gates() {
  has_all "bench gates" bench "${bench_packages[@]}" || return 0
  rings command --record "$record" --name "bench gates" -- "$here/dev" bench --quick --check
}

# The attacks on resources, under limits by cgroup v2.
attacks_in_machine() {
  in_machine "attacks at once, Linux $1" "$1" root cgroup_attacks
}

test_full() {
  ring release rootfs_full
  configure tsan
  compile tsan
  ring tsan unit --jobs "$(nproc)"
  ring tsan api --jobs 2
  configure tidy -DAGENT_SANDBOX_WERROR=ON
  rings command --record "$record" --name "clang build" -- cmake --build "$(build_dir tidy)" -j "$(jobs)"
  rings command --record "$record" --name clang-tidy -- "$here/dev" tidy
  ring_for_all_users kernel --repeat 10
  rings command --record "$record" --name "10,000 launches by 64 threads" -- env JAIL_TEST_LAUNCHES=10000 \
    "$(build_dir release)/tests/kernel/kernel_daemon_test" --gtest_filter='Daemon.Reaps*'
  ring_for_all_users escape_corpus --repeat 10
  ring_for_all_users escape --jobs 2 --repeat 3
  JAIL_TEST_ATTACKS=10 ring_for_all_users escape_at_once
  JAIL_TEST_ENDS=100 ring_for_all_users escape_ends
  JAIL_TEST_CHANNELS=1 ring release escape_channels
  # Half of the seconds in cold jails and half in warm ones: a quarter of an hour.
  JAIL_TEST_SEQUENCES=450 ring release escape_sequences
  JAIL_TEST_PAUSES=1000 JAIL_TEST_SWAPS=10000 ring_for_all_users api --jobs 2 --repeat 3
  rings_in_machine 6.12 JAIL_TEST_JAILS=1000
  corpus_in_machine 6.1
  attacks_in_machine 6.1
  test_fuzzed 900
  configure package -DAGENT_SANDBOX_TESTS=OFF
  compile package
  rings command --record "$record" --name packages -- "$here/dev" package
  rings command --record "$record" --name soak -- "$python" "$here/tests/soak/run.py" \
    "$(build_dir package)/server/cli/agent-sandbox" --plot "$here/build/soak.svg"
  configure asan # by g++, as the examples are
  compile asan jail/all
  rings command --record "$record" --name "soak of the examples" -- "$python" "$here/tests/soak/examples.py" \
    "$(build_dir asan)" --minutes 30
}

# step MINUTES NAME RING COMMAND...: a step that takes MINUTES on a host of the slower kind (tests/README.md). Where it does
# not fit into what is left of the budget it is left out, counted as skipped, and named when all is over.
step() {
  local minutes=$1 name=$2 ring=$3 left
  shift 3
  if [[ -n ${TEST_MINUTES-} ]]; then
    left=$((TEST_STARTED + TEST_MINUTES * 60 - $(date +%s)))
    if ((left < minutes * 60 * pace / 100)); then
      rings skip --left-out --record "$record" --name "$name" --ring "$ring" \
        --reason "left out: it takes some $((minutes * pace / 100)) minutes here, and $((left / 60)) are left"
      return
    fi
  fi
  "$@"
}

# The minutes of the first steps on a host of the slower kind; the time that they took here tells the pace of this host.
readonly minutes_of_build=7 minutes_of_test_once=41
find_pace() {
  pace=100
  [[ -n ${TEST_MINUTES-} ]] || return 0
  pace=$((($(date +%s) - ${TEST_STARTED:?TEST_MINUTES goes with TEST_STARTED}) * 100 / ($1 * 60)))
  ((pace >= 50)) || pace=50 # the build was there already
}

# together FIRST SECOND: two functions at a time. What FIRST prints comes when both are over.
together() {
  local log first status=0
  log=$(mktemp)
  "$1" >"$log" 2>&1 &
  first=$!
  "$2"
  wait "$first" || status=$?
  cat "$log"
  rm -f "$log"
  return "$status"
}

# Rings that mostly wait go together with rings that mostly compute.
test_style() { ring release style --jobs "$(nproc)"; }
test_parts() {
  ring release unit --jobs "$(nproc)"
  ring release golden --jobs "$(nproc)"
}
test_providers() { step 3 llm llm ring release llm --jobs 2; }
test_packages() {
  step 3 embed embed ring release embed --jobs 2
  step 2 deploy deploy ring release deploy --jobs 2
}

# Every ring once, as the calling user. What a slow host leaves out first comes last, here and in test_rest. Two suites run at
# a time; more of them on more processors would disturb each other, since they share the limits that the host sets for a user.
test_once() {
  find_pace "$minutes_of_build"
  npm_clients
  together test_style test_parts
  ring release kernel --jobs 2
  step 12 escape escape ring release escape --jobs 2
  step 8 api api ring release api --jobs 2
  together test_providers test_packages
  step 6 "the built root" rootfs test_built_root
}

test_rest() {
  find_pace "$minutes_of_test_once"
  step 9 "rings in a virtual machine" cgroup rings_in_machine 6.1
  step 3 "kernel, other user" kernel ring_as_other_user kernel --jobs 2
  # The hostile programs of others have met the same jails in `./dev test`; --full has them for both users.
  step 8 "escape, other user" escape ring_as_other_user escape --except escape_corpus --jobs 2
  step 18 sanitizers unit test_sanitized
  step 6 "api, other user" api ring_as_other_user api --except api_of_any_user --jobs 2
  step 6 "programs, other ways" programs test_programs_otherwise
  step 6 fuzz fuzz test_fuzzed 20
  step 4 "bench gates" bench bench_gates
}
