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
from whet.guard.patterns import Pattern
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
_PATTERNS: tuple[Pattern, ...] = (
    # Ruby
    Pattern("shell-handed-over", r"TCPSocket\.(?:new|open)[^\n]{0,160}(?:exec|spawn|IO\.popen|/bin/(?:ba)?sh)"),
    Pattern("shell-handed-over", r"TCPSocket\.(?:new|open)\b[\s\S]{0,400}?(?:IO\.popen\(\s{0,9}(?:cmd|c|line)|/bin/(?:ba)?sh\b)"),
    Pattern("exec-fetched", r"\b(?:eval|instance_eval|system|exec)[ (]{1,4}(?:URI\.open|open|Net::HTTP\.get|HTTParty\.get"
            r"|Faraday\.get)\s{0,4}\(?\s{0,4}(?:URI|[\"']https?:)"),
    Pattern("exec-decoded", r"\beval[ (]{1,4}(?:Base64\.(?:strict_|urlsafe_)?decode64|[\"'][A-Za-z0-9+/=]{24,4000}[\"']\.unpack1?)"),
    # Perl
    Pattern("shell-handed-over", r"open\s{0,4}\(\s{0,4}STDIN\s{0,4},\s{0,4}[\"']>&[\s\S]{0,300}?\bexec\b"),
    Pattern("shell-handed-over", r"IO::Socket::INET[\s\S]{0,400}?(?:exec\s{0,4}[({]?\s{0,4}[\"']/bin/(?:ba)?sh|open"
            r"\s{0,4}\(?\s{0,4}STDIN)"),
    Pattern("exec-fetched", r"\beval[ (]{1,4}(?:LWP::Simple::)?get\s{0,4}\(?\s{0,4}[\"']https?:"),
    Pattern("exec-decoded", r"\beval[ (]{1,4}(?:MIME::Base64::)?(?:decode_base64|pack\s{0,4}\(?\s{0,4}[\"']H\*)"),
    # PHP
    Pattern("exec-decoded", r"\b(?:eval|assert|create_function)\s{0,4}\(\s{0,4}@?(?:base64_decode|gzinflate|gzuncompress"
            r"|str_rot13|strrev|hex2bin)\s{0,4}\("),
    Pattern("exec-fetched", r"\b(?:eval|system|exec|passthru|shell_exec|include|require)\s{0,4}\(\s{0,4}[\"'?>. ]{0,8}"
            r"(?:file_get_contents|curl_exec)\s{0,4}\(\s{0,4}[\"']https?:"),
    Pattern("exec-fetched", r"\b(?:eval|system|passthru|shell_exec|assert)\s{0,4}\(\s{0,4}@?\$_(?:GET|POST|REQUEST|COOKIE)\["),
    Pattern("shell-handed-over", r"fsockopen\s{0,4}\([\s\S]{0,300}?(?:proc_open|shell_exec|exec|popen)"
            r"\s{0,4}\(\s{0,4}[\"'][^\n]{0,30}(?:/bin/)?(?:ba)?sh\b"),
    # Lua
    Pattern("exec-fetched", r"\bload(?:string)?\s{0,4}\(\s{0,4}(?:game:HttpGet|http\.request|request)\s{0,4}\(\s{0,4}[\"']https?:"),
    Pattern("shell-handed-over", r"\breceive\s{0,4}\([\s\S]{0,200}?io\.popen\s{0,4}\(\s{0,4}[a-z_]{1,20}\b"),
    # AppleScript
    Pattern("password-dialog", r"display\s{1,4}dialog\b[^\n]{0,150}?\bpass(?:word|code|phrase)\b[^\n]{0,150}?\bhidden\s{1,4}answer\b"),
    Pattern("password-dialog", r"display\s{1,4}dialog\b[^\n]{0,150}?\bhidden\s{1,4}answer\b[^\n]{0,200}?\bpassword\b"),
    Pattern("exec-fetched", r"do\s{1,4}shell\s{1,4}script\s{1,4}[\"'][^\n]{0,300}?\b(?:curl|wget)\b[^\n]{0,300}?\|\s{0,4}(?:ba"
            r"|z)?sh\b"),
    Pattern("exec-decoded", r"do\s{1,4}shell\s{1,4}script\s{1,4}[\"'][^\n]{0,400}?base64\s{1,4}(?:-d|-D|--decode)[^\n]{0,60}?"
            r"\|\s{0,4}(?:ba|z)?sh\b"),
    # Go, Rust, Java, C#
    Pattern("shell-handed-over", r"exec\.Command\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd(?:\.exe)?|powershell)[\"']"
            r"[\s\S]{0,300}?\.Std(?:in|out)\b[^\n=]{0,60}=\s{0,4}(?:c|conn|connection|s|sock|socket)\b"),
    Pattern("shell-handed-over", r"Command::new\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd)[\"']"
            r"[\s\S]{0,300}?(?:from_raw_fd|stdin\s{0,4}\(\s{0,4}(?:s|stream|sock|socket|conn|tcp)\b)"),
    Pattern("shell-handed-over", r"(?:ProcessBuilder|getRuntime\(\)\.exec)\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd"
            r"(?:\.exe)?)[\"'][\s\S]{0,300}?new\s{1,4}Socket\s{0,4}\(\s{0,4}[\"'\w]"),
    Pattern("shell-handed-over", r"new\s{1,4}TcpClient\s{0,4}\([\s\S]{0,600}?(?:cmd\.exe|powershell|/bin/(?:ba)?sh)"),
    Pattern("exec-fetched", r"(?:exec\.Command|Command::new|getRuntime\(\)\.exec|Process\.Start|os\.execute|IO\.popen)"
            r"\s{0,4}\([^\n]{0,160}?\b(?:curl|wget|iwr|DownloadString)\b[^\n]{0,200}?(?:\|\s{0,4}(?:ba|z)?sh\b"
            r"|\biex\b|Invoke-Expression)"),
    Pattern("exec-fetched", r"DownloadFile\s{0,4}\(\s{0,4}[\"']http://[\s\S]{0,400}?Process\.Start\s{0,4}\("),
    Pattern("exec-fetched", r"Assembly\.Load\s{0,4}\([^\n]{0,120}?DownloadData\s{0,4}\("),
    Pattern("exec-fetched", r"new\s{1,4}URLClassLoader\s{0,4}\([^\n]{0,120}?new\s{1,4}URL\s{0,4}\(\s{0,4}[\"']http://"),
    Pattern("exec-decoded", r"Assembly\.Load\s{0,4}\([^\n]{0,120}?FromBase64String\s{0,4}\("),
    # Any of them
    Pattern("secret-sent", r"(?:File\.read|file_get_contents|os\.ReadFile|ioutil\.ReadFile|read_to_string|readAllBytes"
            r"|ReadAllText|io\.open|open)\s{0,4}\([^\n]{0,120}?(?:\.ssh/id_\w{1,12}|\.aws/credentials|wallet\.dat"
            r"|Login Data)[\s\S]{0,600}?(?:Net::HTTP\.post|http\.Post\b|curl_exec|\.post\(|HttpPost|PostAsync"
            r"|UploadString|http\.request|HTTP::Request)"),
    Pattern("wipe-home", r"(?:FileUtils\.rm_rf|os\.RemoveAll|remove_dir_all)\s{0,4}\(?\s{0,4}(?:Dir\.home"
            r"|ENV\[[\"']HOME[\"']\]|os\.Getenv\(\s{0,4}[\"']HOME[\"']\s{0,4}\)|[\"'](?:/|~)[\"']"
            r"|dirs::home_dir\(\)[^\n)]{0,20})\s{0,4}\)?\s{0,4}[;)]{0,3}\s{0,4}$"),
)  # fmt: skip
"""Patterns of Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java and C#."""


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
