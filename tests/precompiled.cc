// A program that does nothing: precompiled headers belong to a target, and this one's serve the
// tests.
int main() { return 0; }
