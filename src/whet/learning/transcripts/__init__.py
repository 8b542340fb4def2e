"""Sessions of any client, read into one model of events.

    events      what a transcript is: user, assistant, call, result, note
    reader      a file or a list of messages -> a transcript; finds out the format
    walker      takes over records by the rules of `formats.toml`: what each client's records are, and where what lies
    clients     what rules cannot say: records that are written again, told twice, or a subagent's
    opencode    a database; `markdown`, headings that say who speaks
    recorder    a transcript of one's own agent loop, written while it runs
    documents   files with a JSON record a line, and documents that are read as a whole
    collector   what everything is written into: hides secrets, cuts, counts, and keeps within bounds

`tools` knows what the same thing is called everywhere, `wrappers` which texts are no words of the user, both from
`names.toml`. Where clients keep their sessions is in `places`. Nothing of a transcript is ever executed.
"""
