"""Names of packages that everybody knows, and names that are made to be taken for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_PYPI = """requests pandas pillow pytest django urllib3 pydantic fastapi sqlalchemy matplotlib tensorflow transformers
cryptography selenium beautifulsoup4 setuptools openai anthropic langchain scikit-learn python-dateutil python-dotenv
playwright uvicorn gunicorn celery pymongo psycopg2 paramiko colorama certifi jinja2 werkzeug aiohttp websockets
pygments numpy scipy boto3 httpx pyyaml typing-extensions charset-normalizer discord-py telethon streamlit
opencv-python"""
_NPM = """lodash express commander typescript webpack eslint prettier dotenv mongoose cross-env puppeteer playwright
discord.js node-fetch socket.io nodemon jsonwebtoken body-parser electron ethers tailwindcss rimraf chokidar inquirer
winston moment nodemailer bluebird underscore react-dom axios chalk react-router graphql fs-extra minimist babel-core
noblox.js electron-builder"""
_REAL = "tslint openapi websocket beautifulsoup psycopg psycopg3 jinja pyaml boto httpx2 lodash-es react-dnd"

PYPI = frozenset(_PYPI.split())
NPM = frozenset(_NPM.split())
REAL = frozenset(_REAL.split())
"""Packages of their own that happen to be close to another name."""


def lookalike(name: str, famous: AbstractSet[str]) -> str:
    """The well-known name that this one is a slip of the finger away from; empty when there is none."""
    if name in famous or name in REAL or len(name) < 4 or len(name) > 40:
        return ""
    return next((known for known in sorted(famous) if abs(len(known) - len(name)) < 2 and _one_slip(name, known)), "")


def _one_slip(one: str, two: str) -> bool:
    """One letter added, left out, replaced, or two neighbours exchanged."""
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    first, second = one[start:], two[start:]
    if len(first) == len(second):
        return first[1:] == second[1:] or (first[:2] == second[:2][::-1] and first[2:] == second[2:])
    return first[1:] == second if len(first) > len(second) else first == second[1:]
