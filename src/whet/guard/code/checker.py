"""Programs in languages without a reader of their own (Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java, C#): patterns
for what is never honest, where values go (`code_flow`), what the commands in their strings do, and facts for the flow
over the package."""

from __future__ import annotations

import re

from whet.guard import patterns
from whet.guard.code import flow as code_flow
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.places import places
from whet.guard.rules.javascript import CODE

_SENDING = re.compile(
    r"Net::HTTP\.post|http\.Post\b|HTTP::Request|curl_exec|HttpPost|PostAsync|UploadString|reqwest::|LWP::UserAgent",
    re.IGNORECASE,
)
_READING = re.compile(
    r"(?:File\.read|file_get_contents|ReadFile|read_to_string|readAllBytes|ReadAllText|io\.open"
    r"|\bopen)\s{0,4}\(?[^\n]{1,200}",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:exec\.Command(?:Context)?|Command::new|ProcessBuilder|getRuntime\(\)\.exec|Process\.Start|system|exec"
    r"|spawn|popen|os\.execute"
    r"|shell_exec|passthru|proc_open|do\s{1,4}shell\s{1,4}script|capture[23]e?|\.arg|%x)\s{0,4}[({\[ ]?([^\n]{4,2000})"
    r"|`([^`\n]{6,1000})`",
    re.IGNORECASE,
)
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){6,1500})\"|'((?:[^'\\\n]|\\.){6,1500})'")
_BUSY_WORDS = """curl wget base64 nc ncat bash sh powershell iex rm crontab dd mkfs chmod python python3 cat tar
security osascript env printenv scp ssh launchctl systemctl"""
_BUSY = frozenset(_BUSY_WORDS.split())
"""Words of commands that are worth a look."""
_FLOWING_WORDS = """environ env post exec command system eval load loadstring http net socket tcpsocket curl reqwest
ureq httpclient webclient urlrequest popen spawn start processbuilder getruntime dial lwp uploadstring downloadfile"""
_FLOWING = frozenset(_FLOWING_WORDS.split())
"""Words of programs that talk or run something."""
_TALKING_WORDS = "post http net request exec httppost postasync uploadstring reqwest useragent lwp curl"
_TALKING = frozenset(_TALKING_WORDS.split())
_MOST = 20


def check(text: str) -> Seen:
    """What a program of another language does."""
    words = patterns.vocabulary(text)
    hits = list(patterns.hits(CODE, text, words))
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
            if count < _MOST and not patterns.vocabulary(command).isdisjoint(_BUSY) and " " in command:
                count += 1
                line = patterns.line_of(text, found.start())
                plain = re.sub(r"\\([\"'$`\\])", r"\1", command)
                hits += [hit._replace(line=line) for hit in shell.check(plain).hits]
    return hits
