"""Running a skill: a fresh agent with exactly the skill's tools, on a copy of the project, and a report by the harness.

`runs` is the entry point: it starts, resumes, lists and shows runs. `agent` is the loop of one run: the model answers,
and each of its tool calls is decided (`approvals`), made (`tools`) and recorded (`journal`) before it is asked again.
Programs run in one of the `backends`, in the copy that `workspace` makes and compares; `servers` are the MCP servers of
the user, and `trials` does the tasks of evals. `report` is computed from the journal alone, so that the words of the
model cannot change it.
"""
