"""What a session shows, without a model: `evidence_of(transcript)`.

    transcripts -> tool_calls (calls with their results) -> session (request, steps, files, recoveries, rules)

`values` knows the values of a case by their shape, `loads` which skills were loaded, `shell` what a command ran.
"""
