# Observes: what a script can ask of its shell and its process, but for the time since it was started.
echo "$0" "$@" "$#" "$-" "$$" "$PPID" "$BASHPID" "${BASH_SOURCE[0]}" "$LINENO" "$SHLVL" "$PWD" "$_"
env | sort
declare -p | grep -vE ' (RANDOM|SRANDOM|EPOCH[A-Z]*|BASHPID)=|^declare -[a-zA-Z-]* [S]ECONDS='
set -o; shopt; trap; umask; id; ulimit -a; ulimit -aH; jobs; alias; hash
tr '\0' ' ' < /proc/$$/cmdline; readlink /proc/$$/exe
tr '\0' '\n' < /proc/$$/environ
cat /proc/$$/limits
grep -E '^(Name|Umask|Uid|Gid|Groups|Cap|NoNew|Seccomp:|Sig[IC]|ShdPnd)' /proc/$$/status
cat /proc/$$/task/$$/children
