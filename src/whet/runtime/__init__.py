"""Running a skill: a fresh agent with exactly the skill's tools, on a copy of the project, and a report by the harness.

`runs` is the way in: it starts, resumes, lists and shows runs. `agent` is the loop of one run: the model answers, and
each of its tool calls is decided (`approvals`), made (`tools`) and written down (`journal`) before it is asked again. A
program runs where `backends` says, in the copy that `workspace` makes and compares; `servers` are the MCP servers of
the user, and `trials` does the tasks of evals. `report` is computed from the journal alone, so that nothing the model
says can change it.
"""
