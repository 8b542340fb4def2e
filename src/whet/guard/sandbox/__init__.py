"""The sandbox for programs of skills: it limits the files they see, their actions and resources, and leaves nothing behind.

`box` describes the sandbox as a value. `levels` finds out by trying what this machine offers, and runs a program in the
best available one: `bubblewrap` (separate namespaces), `landlock` (kernel rules, applied by `launcher`), `seatbelt`
(macOS). `seccomp` writes the system call filter for the first two; `monitor` counts the resources of a box where the
kernel does not; `process` starts any of them, reads their output, and ends them.
"""
