// Stands in for a converter that its input has taken over: the input's first word names an attack.
// If it succeeds, its result is written to the output behind a PNG's signature, as an attacker
// would smuggle it out.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char signature[] = "\x89PNG\r\n\x1a\n";

static int succeeded(const char* text) {
  FILE* output = fopen("output", "w");
  if (output == NULL) return 3;
  fwrite(signature, 1, sizeof signature - 1, output);
  fputs(text, output);
  return fclose(output) == 0 ? 0 : 3;
}

static int read_file(const char* path) {
  char text[4096] = "";
  const int file = open(path, O_RDONLY);
  if (file < 0) return 1;
  const ssize_t size = read(file, text, sizeof text - 1);
  if (size < 0) return 1;
  text[size] = 0;
  return succeeded(text);
}

static int flood(void) {
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 256; ++i) {
    if (write(2, block, sizeof block) < 0) return 1;
  }
  FILE* output = fopen("output", "w");
  if (output == NULL) return 1;
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 4096; ++i) {
    if (fwrite(block, 1, sizeof block, output) != sizeof block) return 1;
  }
  return 0;
}

static int try(const char* attack, const char* argument) {
  if (strcmp(attack, "nothing") == 0) return succeeded("nothing");
  if (strcmp(attack, "socket") == 0) {
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? succeeded("a socket") : 1;
  }
  if (strcmp(attack, "unix_socket") == 0) {
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? succeeded("a unix socket") : 1;
  }
  if (strcmp(attack, "child") == 0) return fork() >= 0 ? succeeded("a child") : 1;
  if (strcmp(attack, "shell") == 0) {
    execl("/bin/sh", "sh", "-c", "echo a shell >output", (char*)NULL);
    return 1;
  }
  if (strcmp(attack, "read") == 0) return read_file(argument);
  if (strcmp(attack, "own_code") == 0) {
    void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) return succeeded("code by mprotect");
    page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED ? succeeded("code by mmap") : 1;
  }
  if (strcmp(attack, "signal") == 0) return kill(1, 0) == 0 ? succeeded("a signal") : 1;
  if (strcmp(attack, "link") == 0) return symlink(argument, "output") == 0 ? 0 : 1;
  if (strcmp(attack, "flood") == 0) return flood();
  if (strcmp(attack, "script") == 0) {
    FILE* output = fopen("output", "w");
    return output != NULL && fputs("#!/bin/sh\n", output) >= 0 && fclose(output) == 0 ? 0 : 3;
  }
  return 3;
}

int main(int argc, char** argv) {
  char attack[32] = "", argument[512] = "";
  FILE* input = argc == 3 ? fopen(argv[1], "r") : NULL;
  if (input == NULL || fscanf(input, "%31s %511s", attack, argument) < 1) return 3;
  return try(attack, argument);
}
