"""Sessions of any client, read into one model of events.

    events      the parts of a transcript: user, assistant, call, result, note
    reader      a file or a list of messages -> a transcript, in any known format
    walker      reads records by the rules of `formats.toml`, which describe each client's records and their fields
    clients     records that rules cannot describe: rewritten ones, repeated ones, or a subagent's
    opencode    a database; `markdown` is for headings that name the speaker
    recorder    a transcript of an agent loop, written while it runs
    documents   files with one JSON record per line, and documents that are read as a whole
    collector   the target of all readers: hides secrets, cuts, counts, and stays within limits

`tools` has common names for tools, `wrappers` recognizes texts that the user did not write, both from `names.toml`.
`places` has the paths of clients' sessions. Nothing of a transcript is ever executed.
"""
