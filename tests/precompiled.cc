// A program that does nothing: precompiled headers belong to a target, and those of this one serve
// the tests.
int main() { return 0; }
