# Observes: processes in the background, substitutions, pipes and traps.
for i in 1 2 3; do ( echo "$i" ) & wait; done
diff <(printf 'a\nb\n') <(printf 'a\nc\n')
echo "$(bash -c 'echo $PPID; readlink /proc/self/fd/0 | cut -d: -f1')"
trap 'echo leaving' EXIT
printf '%s\n' c a b | sort | tee sorted | wc -l; cat sorted
python3 -c 'import os; print(sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if fd < 3))'
