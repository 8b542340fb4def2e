"""Sessions of any client, read into one model of events.

    events      what a transcript is: user, assistant, call, result, note
    reader      a file or a list of messages -> a transcript; its tables of formats say who reads what
    recorder    a transcript of one's own agent loop, written while it runs
    documents   files with a JSON record a line, and documents that are read as a whole
    collector   what every importer writes into: hides secrets, cuts, counts, and keeps within bounds

One importer for each client: `claude`, `codex`, `gemini` (also Qwen Code), `copilot`, `opencode`, `markdown`;
`api_messages` reads what the APIs of OpenAI and Anthropic have. They share what the same thing is called (`tools`),
which texts are no words of the user (`wrappers`), and the names that clients use (`names.toml`). Where clients keep
their sessions is in `places`. Nothing of a transcript is ever executed.
"""
