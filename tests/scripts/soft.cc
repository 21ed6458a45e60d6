// A program without any hardening, for the test of the script that looks for it.
int main() { return 0; }
