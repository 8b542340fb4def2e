"""Messages in other languages, and kinds of files, in the English words that skills say."""

from __future__ import annotations

import pytest

from routing.shelf import router
from whet.routing.texts import Texts
from whet.routing.words import Reading, file_kinds, file_words, read_message, small_words, table

OFFICE = (
    Texts("pdf", "Reads, merges and fills in PDF files. Use to summarize or extract text from a PDF.", "Use pypdf."),
    Texts("slides", "Builds a presentation with slides from notes.", "Use python-pptx."),
    Texts("sheets", "Creates a spreadsheet with formulas and charts.", "Use openpyxl."),
    Texts("deploying", "Deploys the service to staging or production.", "Run the pipeline."),
    Texts("berichte", "Schreibt Wochenberichte aus Notizen.", "Kurz bleiben."),
)


@pytest.mark.parametrize(
    ("message", "skill"),
    [
        ("fasse dieses PDF zusammen", "pdf"),
        ("résume ce PDF", "pdf"),
        ("resume este PDF", "pdf"),
        ("riassumi questo PDF", "pdf"),
        ("总结这个PDF", "pdf"),
        ("このPDFを要約してください", "pdf"),
        ("이 PDF를 요약해줘", "pdf"),
        ("erstelle eine Präsentation aus meinen Notizen", "slides"),
        ("faça uma apresentação das minhas notas", "slides"),
        ("сделай презентацию для совещания", "slides"),
        ("crea una hoja de cálculo con estos gastos", "sheets"),
        ("déploie le service en production", "deploying"),
        ("部署到生产环境", "deploying"),
    ],
)
def test_a_message_in_another_language_finds_an_english_skill(message: str, skill: str) -> None:
    known = router(OFFICE)
    assert known.find(message)[0].key == skill
    assert known.detect(message).key == skill


def test_a_skill_in_the_language_of_the_message_is_found_as_it_is() -> None:
    assert router(OFFICE).find("schreibe den Wochenbericht und die Wochenberichte")[0].key == "berichte"


@pytest.mark.parametrize(
    "message", ["summarize this PDF", "resume the build", "draw me a chart", "deploy docs", "plan"]
)
def test_english_stays_as_it_is(message: str) -> None:
    assert read_message(message, lambda _: True) is None


def test_small_words_are_left_out_and_unknown_words_stay() -> None:
    read = read_message("übersetze die Anleitung für Kubernetes", lambda _: True)
    assert read == Reading("übersetze  Anleitung  Kubernetes", "translate  Anleitung  Kubernetes")


def test_of_several_english_words_the_one_is_taken_that_skills_say() -> None:
    read = read_message("erstelle eine Tabelle", {"excel", "create"}.__contains__)
    assert read is not None and read.english.split() == ["create", "excel"]


def test_files_are_known_by_their_ending_or_their_name() -> None:
    assert file_words(["a/report.PDF", "Dockerfile", "C:\\x\\app.tsx", "notes"]) == (
        "pdf",
        "docker",
        "container",
        "typescript",
        "react",
    )


def test_every_row_of_the_table_can_be_used() -> None:
    words = table()
    languages = {language for languages in small_words().values() for language in languages}
    assert languages >= {"@de", "@fr", "@es", "@zh", "@ja"}
    assert all(meant for meant in (*words.whole.values(), *words.starts.values(), *file_kinds().values()))
    assert all(english.isascii() and english.islower() for meant in words.whole.values() for english in meant)
    assert not {word for word in words.starts if len(word) < 2}
