# Observes: a script of nearly as many bytes as a shell that waits takes.
words=(
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
  lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt
)
echo "${#words[@]}" "${words[-1]}"
stat -c %s "$0"
