"""Programs in languages without a reader of their own (Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java, C#): patterns
for what is never honest, where values go (`flow`), what the commands in their strings do, and facts for the flow
over the package."""

from __future__ import annotations

import re

from whet.guard import patterns
from whet.guard.code import flow as code_flow
from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.literals import vocabulary
from whet.guard.places import places
from whet.guard.tables import api

_SENDING = expression(
    r"Net::HTTP\.post|http\.Post\b|HTTP::Request|curl_exec|HttpPost|PostAsync|UploadString|reqwest::|LWP::UserAgent",
    re.IGNORECASE,
)
_READING = expression(
    r"(?:File\.read|file_get_contents|ReadFile|read_to_string|readAllBytes|ReadAllText|io\.open"
    r"|\bopen)\s{0,4}\(?[^\n]{1,200}",
    re.IGNORECASE,
)
_COMMAND = expression(
    r"(?:exec\.Command(?:Context)?|Command::new|ProcessBuilder|getRuntime\(\)\.exec|Process\.Start|system|exec"
    r"|spawn|popen|os\.execute"
    r"|shell_exec|passthru|proc_open|do\s{1,4}shell\s{1,4}script|capture[23]e?|\.arg|%x)\s{0,4}[({\[ ]?([^\n]{4,2000})"
    r"|`([^`\n]{6,1000})`",
    re.IGNORECASE,
)
_STRING = expression(r"\"((?:[^\"\\\n]|\\.){6,1500})\"|'((?:[^'\\\n]|\\.){6,1500})'")
_BUSY = api("code", "busy")
_FLOWING = api("code", "flowing")
_TALKING = api("code", "talking")
_MOST = 20
_PATTERNS = patterns.load_patterns("code")


def check(text: str) -> Seen:
    """What a program of another language does."""
    words = vocabulary(text)
    hits = list(patterns.hits(_PATTERNS, text))
    facts: list[Fact] = []
    for found in _READING.finditer(text) if code_flow.secret_looking(text) else ():
        for place in places(found[0]):
            if place.kind == "secret" and place.grave and len(facts) < _MOST:
                line = patterns.line_of(text, found.start())
                facts.append(Fact("source", place.what, line, patterns.shorten(found[0]), place.text, grave=True))
    for found in _SENDING.finditer(text) if not words.isdisjoint(_TALKING) else ():
        if len(facts) >= 2 * _MOST:
            break
        facts.append(Fact("sink", "network request", patterns.line_of(text, found.start()), patterns.shorten(found[0])))
    if not words.isdisjoint(_FLOWING) and code_flow.worth(text):
        hits += code_flow.follow(text).hits
        if len(text) > code_flow.LARGEST:
            hits.append(Hit("code-partly-analysed", 1, f"{len(text)} characters"))
    if not words.isdisjoint(_BUSY):
        hits += _commands(text)
    return Seen(tuple(dict.fromkeys(hits)), tuple(facts))


def _commands(text: str) -> list[Hit]:
    """What the commands do that a program hands to a shell."""
    from whet.guard.shell import checker as shell

    hits: list[Hit] = []
    count = 0
    for found in _COMMAND.finditer(text):
        given = [found[2]] if found[2] else [first or second for first, second in _STRING.findall(found[1])]
        for command in given:
            if count < _MOST and not vocabulary(command).isdisjoint(_BUSY) and " " in command:
                count += 1
                line = patterns.line_of(text, found.start())
                plain = re.sub(r"\\([\"'$`\\])", r"\1", command)
                hits += shell.check(plain).at(line).hits
    return hits
