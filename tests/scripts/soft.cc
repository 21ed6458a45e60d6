// A program without any hardening, for the test of check_hardening.py.
int main() { return 0; }
