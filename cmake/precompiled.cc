// A source for the target that compiles precompiled.h.
