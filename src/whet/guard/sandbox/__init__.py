"""A box around programs of skills: what they see, what they may do, what they may take, and that nothing is left.

`box` says what is wanted, as a value. `levels` knows what this machine offers, by trying, and runs a program in the
best of it: `bubblewrap` (namespaces of its own), `landlock` (rules of the kernel, put on by `launcher`), `seatbelt`
(macOS). `seccomp` writes the filter of system calls for the first two; `watching` counts what a box takes where the
kernel does not; `running` starts any of them, reads what they print, and ends them.
"""
