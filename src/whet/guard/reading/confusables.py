"""Letters that look like others, and the words that are worth disguising.

The table is small on purpose: only letters that a reader takes for the Latin one at a glance. It is used on words that
mix scripts, never on whole words of another script, so that Russian, Greek and the rest stay what they are.
"""

from __future__ import annotations

_PAIRS = (
    # Cyrillic
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw ѵv кk мm тt гr пn ьb ԍg ӏl",
    "АA ВB ЕE ЗZ ІI ЈJ КK МM НH ОO РP СC ЅS ТT УY ХX ԌG ԚQ ԜW ӀI",
    # Greek
    "αa οo νv ρp τt υu κk ιi γy ηn ωw ϲc ϳj εe",
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",
    # Armenian and Cherokee
    "օo սu հh ոn ցg ԼL ՕO ՍU ᎪA ᏴB ᏟC ᎬE ᎻH ᎥI ᎫJ ᏦK ᏞL ᎷM ᏢP ᏒR ᏚS ᎢT ᏙV ᎳW ᏃZ",
    # Latin letters that pass for plain ones
    "ıi ɑa ɡg ʏy ɩi ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ᴢz",
)

LETTERS: dict[str, str] = {pair[0]: pair[1] for row in _PAIRS for pair in row.split()}
"""Look-alike -> the Latin letter it passes for."""

_ORDERS = (
    "ignore ignores ignoring disregard override overrides previous prior instruction instructions system prompt prompts"
    " forget reveal conceal bypass jailbreak secret secrets password passwords passphrase credential credentials token"
    " tokens exfiltrate execute developer unrestricted silently curl wget bash eval exec sudo powershell pwsh python"
    " node chmod subprocess popen ssh netcat ncat osascript crontab invoke iex import require fetch environ getenv"
)
ORDERS = frozenset(_ORDERS.split())
"""Words that an instruction or a command is made of: nobody disguises them by accident."""

_COMMON = (
    "the and you your user users agent agents assistant model please always never must should before after without"
    " with from this that then only also run running send sends upload download install installer update delete remove"
    " file files read write open copy paste terminal command commands script scripts shell admin administrator root"
    " login account accounts bank wallet wallets key keys api server servers config data http https www com github"
    " gitlab google microsoft apple amazon paypal openai anthropic claude chatgpt gemini binance coinbase metamask"
    " discord telegram slack webhook requests urllib socket cookie cookies browser chrome security scanner review"
    " approve approved confirm tell ask hidden private public important critical note following follow function return"
    " print echo cat grep sed source export path home memory skill skills tool tools message email payload"
)
COMMON = frozenset(_COMMON.split())
"""Words common enough that a look-alike in them is worth a look."""
