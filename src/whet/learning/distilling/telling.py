"""Which words tell one job from another: not those of any job, of chatter, of errors, nor the small ones of a language.

A word that stands in half of all requests (file, test, version) calls for a skill only beside a rarer one; a word of
grammar or politeness never does. Values, places and masks of secrets are no words at all.
"""

from __future__ import annotations

import re
from functools import lru_cache

from whet.skill.terms import is_common, terms

_FOREIGN = frozenset(
    """
    und oder aber der die das den dem des ein eine einen einem einer eines ich du er sie wir ihr mich dich mir dir uns
    ist sind habe hast hat haben kann kannst koennen können könntest könnten könnt bitte mit für von vom zu zum zur auf
    aus bei nach über unter im am als wie wenn dass weil nicht kein keine noch nur auch dann dort hier diese diesen
    dieser dieses alle alles soll sollte sollen muss möchte wird werden danke hallo mal
    le la les un une des du de et ou mais dans sur sous avec pour par sans ce cette ces est sont je tu il elle nous vous
    ils mon ma mes ton ta tes qui que quoi dont ne pas plus peux peut pouvez pourrais pourriez merci bonjour svp
    el los las una unos y pero en con por para sin este esta estos estas es son yo tú usted nosotros mi mis su sus
    quien no puedes puede podrías gracias hola favor
    lo gli dei della delle nel nella sul con per tra fra che chi non puoi può potresti grazie ciao questo questa
    os um uma uns umas ao à não voce você pode podes obrigado olá isto isso
    het een en van voor met op te dat niet wel kun kunt graag alsjeblieft dank
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""The small words of German, French, Spanish, Italian, Portuguese and Dutch."""
_CHATTER = frozenset(
    "thx ty pls plz lol haha btw fyi asap cheers guys folks buddy mate dude hmm huh ugh yep nope".split()  # noqa: SIM905  words
)
"""What people say around a request."""
_NOISE = frozenset(
    """
    sorry hope mess careful careless luck cool awesome perfect weird strange annoying stuck idea ideas guess suppose
    believe wonder morning afternoon evening tonight weekend monday tuesday wednesday thursday friday saturday sunday
    week month year boss colleague everywhere somehow anyway actually basically simply quickly easily carefully finally
    later soon described secret password passwd token credential credentials traceback exception recent call error
    errors fails failed failure failing broken crash crashed
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of sixty strings
)
"""What tells of a mood, a day, a secret or a failure, and not of a job."""
_GENERIC = frozenset(
    """
    add adjust against amount apply ask back blame bring build bump call cargo cause change check clean clear close
    code command commit config configuration content copy create csv curl cut data database date day days default
    delete description detail details directory docker docs document done download edit end entries entry example
    export fetch field fields figure file files fill find fix folder format function generate get git give goes
    group handle home host html id image images implement import improve include info input install internal issue
    item job json keep key keys language leave level library line lines link list load local log logs look machine
    main major make manage md mean message method minor mode model month move name names new newest node npm npx
    number numbers object open option options order output package page pages part pass path paths pip place plan
    pnpm point prepare problem process program project provide pull push put pytest python query question quick read
    readme record related release remove rename repo report repository request result results review roll row rows
    run save scp screen script section see send server service set setup show size sort sorted source ssh start
    state status step stop store string structure system table tables tag tar task team template test tests text
    things ticket time title tool tools turn txt type types update upload url use user users uv value values version
    versions view way web wget work works write xml yaml yarn zip
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""What stands in the requests for many jobs."""
_SHAPE = re.compile(r"(?=.*[^\W\d_]{3})[^\W_][^\s<>.@/\\_:]{1,28}")


def tells(chunk: str) -> bool:
    """Is it a word of a job at all? It may stand in a phrase."""
    plain = chunk.lower().replace("’", "'")
    key = (terms(chunk) or [""])[-1]
    if not key or is_common(key) or {plain, plain.removesuffix("s")} & (_FOREIGN | _CHATTER | _NOISE):
        return False
    return _SHAPE.fullmatch(chunk) is not None and not re.search(r"\d{2}", chunk) and len(chunk) > 2


def is_rare(chunk: str) -> bool:
    """Does it tell a job from others by itself?"""
    return tells(chunk) and not _terms(chunk) <= _generic()


def is_foreign(word: str) -> bool:
    """Is it a small word of another language than English?"""
    return word.lower() in _FOREIGN


def is_chatter(word: str) -> bool:
    """Is it said beside any job?"""
    return word.lower() in _CHATTER


def _terms(chunk: str) -> set[str]:
    return set(terms(chunk)) or {""}


@lru_cache(maxsize=1)
def _generic() -> frozenset[str]:
    return frozenset(term for word in _GENERIC for term in terms(word))
