#!/bin/bash
# The guest's process 1, or what comes before systemd is that. `arguments` are those of this run.
# shellcheck disable=SC1091,SC2154 # project, directory, mode, results, seconds and command come from `arguments`
set -euo pipefail
source /run/vm/arguments
readonly user=1000
readonly group=/sys/fs/cgroup/vm
port=$(echo /dev/vport*)

# /tmp becomes the guest's own, also where the project lies below it.
prepare_files() {
  local path
  mkdir /run/project && mount --bind "$project" /run/project
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  [[ -d $project ]] || { mkdir -p "$project" && mount --bind /run/project "$project"; }
  if [[ $results ]]; then
    mkdir -p "$results"
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 results "$results"
  fi
  # A checkout in somebody's closed home can be entered, in this layer of the tree.
  for path in "$project" "$directory"; do
    while [[ $path != / ]]; do
      if [[ -d $path && ! -k $path ]]; then chmod o+x "$path"; fi
      path=$(dirname "$path")
    done
  done
  ln -s /proc/self/fd /dev/fd
  ln -s fd/0 /dev/stdin
  ln -s fd/1 /dev/stdout
  ln -s fd/2 /dev/stderr
  getent group $user >/dev/null || echo "vm:x:$user:" >>/etc/group
  getent passwd $user >/dev/null || echo "vm:x:$user:$user::/tmp:/bin/bash" >>/etc/passwd
}

prepare_cgroup() {
  local directory name
  mkdir -p $group/command
  for directory in /sys/fs/cgroup $group; do
    sed 's/[^ ]*/+&/g' "$directory/cgroup.controllers" >"$directory/cgroup.subtree_control"
  done
  [[ $mode == user ]] || return 0
  for directory in $group $group/command; do
    chown $user:$user "$directory"
    # shellcheck disable=SC2013 # words are what this file has
    for name in $(</sys/kernel/cgroup/delegate); do
      if [[ -e $directory/$name ]]; then chown $user:$user "$directory/$name"; fi
    done
  done
}

# Compressed memory, which is all that this machine has.
prepare_swap() {
  echo 256M >/sys/block/zram0/disksize
  busybox mkswap /dev/zram0 >/dev/null
  busybox swapon /dev/zram0
}

# The host's are closed to whoever may have started the machine, and so to its root: PAM and useradd
# get files that say of everybody that they have no password.
prepare_passwords() {
  rm -f /etc/{shadow,gshadow}{,-} /etc/.pwd.lock
  sed 's/:.*/:*:::::::/' /etc/passwd >/etc/shadow
  sed 's/:.*/:*::/' /etc/group >/etc/gshadow
  chmod 0640 /etc/shadow /etc/gshadow
}

# As a service, so that it starts when systemd is up; its end is the machine's.
prepare_systemd() {
  local units=/run/systemd/system
  mkdir -p $units /run/user/$user "$units/user-runtime-dir@.service.d" /run/systemd/{system,user}.conf.d
  # A service takes many times as long on a processor in software, and longer where others use that too.
  printf '[Manager]\nDefaultTimeoutStartSec=600\n' | tee /run/systemd/{system,user}.conf.d/vm.conf >/dev/null
  chown $user:$user /run/user/$user
  chmod 0700 /run/user/$user
  cat >$units/vm.target <<'UNIT'
[Unit]
Requires=vm-command.service dbus.socket
After=dbus.socket
UNIT
  cat >$units/vm-command.service <<UNIT
[Unit]
DefaultDependencies=no
After=dbus.socket
[Service]
Type=oneshot
ExecStart=/bin/bash /run/vm/init as-service
StandardOutput=file:$port
StandardError=file:$port
UNIT
  # The directory is there; making it is the login service's, which does not run here.
  cat >"$units/user-runtime-dir@.service" <<'UNIT'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
UNIT
}

# Not for the kernel's own; processes end while they are looked at.
describe_process() {
  local words
  words=$(tr '\0' ' ' <"$1/cmdline")
  [[ -n $words ]] || return 1
  echo "${1#/proc/} $(grep -E '^(State|PPid)' "$1/status" | cut -f 2 | xargs) $(cat "$1/wchan"): ${words:0:150}"
}

# A command that hangs is killed with its machine; what everybody waited for is on the console then.
tell_who_waits() {
  local directory line
  sleep $((seconds * 2 / 3))
  for directory in /proc/[1-9]*; do
    if line=$(describe_process "$directory" 2>/dev/null); then echo "$line"; fi
  done >/dev/ttyS0
}

finish() {
  echo "$1" >/run/vm/status
  sync
  busybox poweroff -f
}

export HOME=/tmp PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [[ ${1-} == as-service ]]; then
  cd "$directory" || finish 126
  status=0
  "${command[@]}" </dev/null || status=$?
  finish $status
fi

prepare_files
prepare_swap
if [[ $mode == systemd ]]; then
  prepare_passwords
  prepare_systemd
  tell_who_waits &
  exec /lib/systemd/systemd --unit=vm.target --show-status=false --log-target=kmsg --log-level=notice
fi

prepare_cgroup
tell_who_waits &
become=(env)
[[ $mode != user ]] || become=(setpriv "--reuid=$user" "--regid=$user" --clear-groups --)
# Through cat, so that the end of the output is known before the machine is switched off.
exec 3> >(exec cat >"$port")
writer=$!
status=0
(
  echo "$BASHPID" >$group/command/cgroup.procs
  cd "$directory" || exit 126
  export JAIL_TEST_CGROUP=$group
  exec setsid "${become[@]}" "${command[@]}"
) </dev/null >&3 2>&1 3>&- || status=$?
echo 1 >$group/cgroup.kill # what the command left behind keeps the output open
exec 3>&-
wait "$writer"
finish $status
