#!/bin/busybox sh
# shellcheck shell=dash
# The guest's first process: the host's file tree under a layer of memory, then guest_init.sh in it.
set -euo pipefail
bb=/bin/busybox
transport=trans=virtio,version=9p2000.L,msize=262144

for module in /modules/*; do $bb insmod "$module"; done
$bb mkdir -p /host /layer /new
$bb mount -t 9p -o "ro,$transport,cache=loose" host /host
$bb mount -t tmpfs -o size=60% layer /layer
$bb mkdir /layer/upper /layer/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work overlay /new

$bb mount -t proc proc /new/proc
$bb mount -t sysfs sysfs /new/sys
$bb mount -t devtmpfs -o mode=0755 devtmpfs /new/dev
$bb mkdir -p /new/dev/pts /new/dev/shm
$bb mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /new/dev/pts
$bb mount -t tmpfs -o mode=1777 tmpfs /new/dev/shm
$bb mount -t tmpfs -o mode=0755 tmpfs /new/run
$bb mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /new/sys/fs/cgroup
$bb mkdir -m 0755 /new/run/vm
$bb mount -t 9p -o "$transport" job /new/run/vm
$bb ip link set lo up
$bb hostname vm
exec $bb switch_root /new /bin/bash /run/vm/init
