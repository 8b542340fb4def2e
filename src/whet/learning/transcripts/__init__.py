"""Sessions of any client, read into one model of events.

    events      what a transcript is: user, assistant, call, result, note
    reading     a file or a list of messages -> a transcript; the format is found out
    recorder    a transcript of one's own agent loop, written while it runs
    documents   JSON records, line by line, and a session that is one JSON value, read message by message
    collecting  what every importer writes into: hides secrets, cuts, counts, and keeps within bounds

One importer for each client: `claude`, `codex`, `hermes`, `openai`, `anthropic`, `markdown`, `generic`. They share what
the same thing is called (`tools`) and which texts are no words of the user (`wrappers`). Nothing of a
transcript is ever executed.
"""
