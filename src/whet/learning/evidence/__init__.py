"""The evidence of a session, without a model: `evidence_of(transcript)`.

    transcripts -> tool_calls (calls with their results) -> session (request, steps, files, recoveries, rules)

`values` recognizes the values of a case by their shape, `loads` the loaded skills, `shell` the programs of a command.
"""
