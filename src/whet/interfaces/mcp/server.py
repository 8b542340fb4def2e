"""The MCP server: requests of many clients at once, answered by the library in threads.

It is the low-level server of the official SDK, which speaks both eras of the protocol: with a handshake (to 2025-11-25)
and without (from 2026-07-28 on). The differences are small and all here: a client with a handshake is asked for its
roots on its own channel and notified of changes directly, one without is asked within an answer and notified in a
stream that it opens. `elicitation` asks in the same two ways.

Every handler runs the library in a worker thread. A client that cancels gets no answer; running work is finished,
because a change is made completely or not at all.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from whet import __version__
from whet.api.tool_definitions import DISTILL
from whet.errors import FailedError, WhetError
from whet.interfaces.mcp import elicitation, prompts, watcher
from whet.interfaces.mcp.client_session import ClientSession, named_project, project_of
from whet.interfaces.mcp.handshake import ABOUT, EXTENSIONS, TEMPLATES, list_tools
from whet.interfaces.mcp.watcher import Audience, contents_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcp.server.connection import Connection
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.models import InitializationOptions

    from whet.api.session_pool import SessionPool
    from whet.interfaces.mcp.client_session import ClientContext
    from whet.interfaces.mcp.introduction import Introduction
    from whet.library.visibility import Caller
    from whet.values import Json

    Context: TypeAlias = ServerRequestContext[Any, Any]

STANDING = 3_600_000
"""Milliseconds that a client may cache data that only a new version changes. Other data is on disk and must not be
cached, because it may change at any time.
"""
INSTRUCTIONS = 2_000
"""Characters of the server's instructions; some clients cut the rest."""
_USAGE = 350
"""Characters of it for how to use the tools."""
_ROOTS = "roots"
_ROOTS_WAIT = 5.0
_THREADS = 16
_MOST_COMPLETIONS = 100
"""The limit of the protocol."""
_MOST_SUBSCRIBED = 500
"""Number of addresses that one client may subscribe to; each is read at every look."""
_PATIENCE = 5.0
"""Seconds that a client has to receive a notification."""
_CLIENT = "whet"

Value = TypeVar("Value")
Params = TypeVar("Params", bound=types.RequestParams)


class AddressParams(types.RequestParams):
    """A request about one address."""

    uri: str


class DirectoryParams(types.PaginatedRequestParams):
    """A request about one directory."""

    uri: str


class SkillServer(Server[Any]):
    """The library as an MCP server."""

    def __init__(self, sessions: SessionPool, *, alone: bool) -> None:
        """`alone` means that there is one client, as on stdio; otherwise requests without a session are strangers."""
        self._sessions = sessions
        self._alone = alone
        self._only: ClientSession | None = None
        self._introduction: Introduction | None = None
        self._told: watcher.Known | None = None
        """The list that the only client got before this server was started."""
        self._connections: dict[Connection, Audience] = {}
        self._streams: set[Audience] = set()
        self._nudge = anyio.Event()
        self._threads = anyio.CapacityLimiter(_THREADS)
        super().__init__("whet", version=__version__, title="Whet", description=ABOUT)
        self.extensions = EXTENSIONS
        page = types.PaginatedRequestParams
        for method, params, handler in (
            ("tools/list", page, self._list_tools),
            ("tools/call", types.CallToolRequestParams, self._call_tool),
            ("resources/subscribe", types.SubscribeRequestParams, self._subscribe),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe),
            ("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen),
            ("completion/complete", types.CompleteRequestParams, self._complete),
        ):
            self.add_request_handler(method, params, cast("Any", handler))
        serve = self._serve
        serve("resources/list", page, lambda client, given: client.served.list_resources(given.cursor))
        serve("resources/templates/list", page, lambda *_: TEMPLATES)
        serve("resources/read", types.ReadResourceRequestParams, lambda client, given: client.served.read(given.uri))
        serve("resources/directory/read", DirectoryParams, lambda c, given: c.served.directory(given.uri, given.cursor))
        serve("skills/list", page, lambda client, given: client.served.list_skills(given.cursor))
        serve("skills/get", AddressParams, lambda client, given: client.served.get_skill(given.uri))
        serve("prompts/list", page, lambda client, given: prompts.list_prompts(client.tools, given.cursor))
        serve("prompts/get", types.GetPromptRequestParams, lambda c, given: prompts.get_prompt(c.tools, given))
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        self.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots_changed)
        self.middleware = [self._wrap]

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        *others: Any,
        **more: Any,
    ) -> InitializationOptions:
        """Return the options of the handshake; they always include changing lists."""
        changing = notification_options or NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().create_initialization_options(changing, *others, **more)

    def resume(self, client: ClientSession, introduction: Introduction, told: watcher.Known | None) -> None:
        """Continue with the only client, which was already greeted and may know the list of skills."""
        self._only, self._introduction, self._told = client, introduction, told

    # clients

    def _client_session(self, ctx: Context) -> ClientSession:
        """Return the client of a request: known by its connection or, without one, the only client or a stranger."""
        state = _connection(ctx).state
        known: ClientSession | None = self._only or state.get(_CLIENT)
        if known is None:
            known = state[_CLIENT] = ClientSession(self._sessions, _client(ctx))
            self._only = known if self._alone else None
        return known

    async def _context(self, ctx: Context, params: types.InputResponseRequestParams | None = None) -> ClientContext:
        """Return the context for the client's project: the one that it names, else that of its roots.

        A client without its own channel can be asked only within the answer to these `params`; `_Ask` is raised then.
        Requests that cannot be answered with a question are about the directory where the server was started.
        """
        client = self._client_session(ctx)
        await self._settle(ctx, client, params)
        context = await self._run(client.context)
        known = None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else self._connections.get(_connection(ctx))
        # The first request of most clients is for the tools, which names no skill: it does not wait for a large
        # library. Any other request does, before the first answer, so that later changes are reported.
        if known and (ctx.method != "tools/list" or not await self._run(_is_large, context)):
            await self._begin(known)
        return context

    async def _settle(
        self, ctx: Context, client: ClientSession, params: types.InputResponseRequestParams | None = None
    ) -> None:
        capabilities = ctx.session.client_capabilities
        if client.settled:
            return
        if (named := _named(ctx)) is not None:
            client.settle(named)
        elif capabilities is None or capabilities.roots is None:
            client.settle(None)
        elif ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            client.settle(await self._ask_roots(ctx))
        elif params is not None:
            answers = params.input_responses or {}
            if _ROOTS not in answers:
                raise _Ask
            client.settle(_project(answers[_ROOTS]))

    async def _ask_roots(self, ctx: Context) -> str | None:
        beside = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            roots = await ctx.session.send_request(
                types.ListRootsRequest(), types.ListRootsResult, _ROOTS_WAIT, metadata=beside
            )
        except Exception as error:  # noqa: BLE001  a client that cannot tell its roots is served where the server is
            _complain(f"The client does not report its roots ({error}).")
            return None
        return _project(roots)

    async def _initialized(self, ctx: Context, _: types.NotificationParams) -> None:
        audience = self._audience(ctx)
        if self._told is not None:  # as of where the server was started; differences are reported
            audience.known, self._told = self._told, None
            await self._settle(ctx, audience.client)
            self._nudge.set()

    async def _roots_changed(self, ctx: Context, _: types.NotificationParams) -> None:
        self._client_session(ctx).settled = False

    async def _wrap(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Wrap every request: ask for roots if necessary, and list the skills in the handshake.

        The list is for clients that have nothing else to show a model.
        """
        try:
            result = await call_next(ctx)
        except _Ask:
            asked = types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
            return asked.model_dump(by_alias=True, mode="json", exclude_none=True)
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            result["capabilities"]["extensions"] = self.extensions  # which the handshake would not carry
            with suppress(MCPError):
                client = self._client_session(ctx)
                if (named := _named(ctx)) is not None:
                    client.settle(named)
                context = await self._run(client.context)
                result["instructions"] = await self._run(self._introduce, context)
        return result

    def _introduce(self, context: ClientContext) -> str:
        """Return the list of skills for the handshake, and cache it for the next one."""
        told = context.tools.introduction(INSTRUCTIONS - _USAGE)
        if self._introduction is not None:
            self._introduction.remember(told, context.tools.session.workspace)
        return told

    # the library, in a thread

    async def _run(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Run a function of the library; its errors become those of the protocol."""
        try:
            return await anyio.to_thread.run_sync(
                partial(function, *arguments), abandon_on_cancel=True, limiter=self._threads
            )
        except WhetError as error:
            code = types.INTERNAL_ERROR if isinstance(error, FailedError) else types.INVALID_PARAMS
            raise MCPError(code, error.message, error.to_json()) from error
        except Exception as error:
            _complain(f"{type(error).__name__}: {error}")
            raise MCPError(types.INTERNAL_ERROR, "Something went wrong inside Whet.") from error

    def _serve(self, method: str, params: type[Params], answer: Callable[[ClientContext, Params], Json]) -> None:
        """Answer a method from the library; all answers but a prompt say how long they are valid."""

        async def handle(ctx: Context, given: Params) -> Json:
            asked = given if isinstance(given, types.InputResponseRequestParams) else None
            told = await self._run(answer, await self._context(ctx, asked), given)
            held = {} if "messages" in told else {"ttlMs": 0, "cacheScope": "private"}
            return {"resultType": "complete", **told, **held}

        self.add_request_handler(method, params, cast("Any", handle))

    # tools

    async def _list_tools(self, ctx: Context, _: Any) -> types.ListToolsResult:
        tools = (await self._context(ctx)).tools
        told = list_tools(tools.writes, runs=tools.runs)
        return types.ListToolsResult.model_validate({**told, "ttlMs": STANDING})

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tools = (await self._context(ctx, params)).tools
        if params.name not in {tool.name for tool in tools.definitions()}:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r:.80}.")
        call = partial(self._run, tools.call, params.name)
        if elicitation.is_wanted(ctx, params):
            again = {_ROOTS: types.ListRootsRequest()} if _ROOTS in (params.input_responses or {}) else {}
            answer = await elicitation.ask(ctx, params, call, again)
            if isinstance(answer, types.InputRequiredResult):
                return answer
        else:
            answer = await call(params.arguments)
        if params.name in ("skill_manage", DISTILL):
            self._nudge.set()
        text = types.TextContent(text=json.dumps(answer, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=answer, is_error=not answer["success"])

    # resources and completions

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        context, stamps = await self._context(ctx), self._audience(ctx).stamps
        if len(stamps) >= _MOST_SUBSCRIBED and params.uri not in stamps:
            raise MCPError(types.INVALID_PARAMS, f"There are already {_MOST_SUBSCRIBED} subscriptions.")
        contents = await self._run(context.served.read, params.uri)  # the address must exist
        stamps.setdefault(params.uri, contents_stamp(contents))
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._audience(ctx).stamps.pop(params.uri, None)
        return types.EmptyResult()

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Report changes to a client without a handshake, in the stream that answers this request."""
        uris = params.notifications.resource_subscriptions or ()
        if len(uris) > _MOST_SUBSCRIBED:
            raise MCPError(types.INVALID_PARAMS, f"At most {_MOST_SUBSCRIBED} addresses can be subscribed to.")
        bus, client = InMemorySubscriptionBus(), self._client_session(ctx)
        await self._settle(ctx, client)
        audience = Audience(client, partial(watcher.publish, bus), uris)
        await self._begin(audience)
        self._streams.add(audience)
        try:
            return await ListenHandler(bus)(ctx, params)
        finally:
            self._streams.discard(audience)

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        values: list[str] = []
        if isinstance(params.ref, types.ResourceTemplateReference) and params.argument.name == "path":
            values = await self._run((await self._context(ctx)).served.complete, params.argument.value)
        shown = values[:_MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(values), has_more=len(shown) < len(values))
        )

    # changes

    def _audience(self, ctx: Context) -> Audience:
        """Return a client with a handshake as an audience of changes until it disconnects."""
        connection = _connection(ctx)
        if connection not in self._connections:
            self._connections[connection] = Audience(self._client_session(ctx), partial(watcher.tell, connection))
            connection.exit_stack.callback(self._connections.pop, connection, None)
        return self._connections[connection]

    async def _begin(self, audience: Audience) -> None:
        if audience.known is None:
            await self._look([audience])

    async def watch(self) -> None:
        """Report changes to clients, until cancelled."""
        pause = watcher.PAUSE
        while True:
            with anyio.move_on_after(pause):
                await self._nudge.wait()
            self._nudge = anyio.Event()
            begun = time.monotonic()
            await self._look([*self._connections.values(), *self._streams])
            pause = max(watcher.PAUSE, (time.monotonic() - begun) / watcher.SHARE)

    async def _look(self, audiences: Iterable[Audience]) -> None:
        """Report changes to these audiences; each project is read once for each kind of client."""
        found: dict[tuple[str | None, Caller], watcher.Known] = {}
        for audience in audiences:
            with suppress(MCPError):  # on failure, the next look tries again
                context = await self._run(audience.client.context)
                if (place := (context.project, context.caller)) not in found:
                    found[place] = await self._run(watcher.Known, context)
                changed = await self._run(audience.compare, found[place])
                if changed.resources and self._introduction is not None and context.project is None:
                    await self._run(self._introduce, context)
                with anyio.move_on_after(_PATIENCE):
                    await audience.tell(changed)


class _Ask(Exception):  # noqa: N818  it is no error but a question
    """The client must be asked for its roots."""


def _is_large(context: ClientContext) -> bool:
    try:
        return context.tools.session.workspace.is_large()
    except WhetError:  # a later look at the skills reports it
        return False


def _connection(ctx: Context) -> Connection:
    return ctx.session._connection  # noqa: SLF001  the SDK has no other way to what belongs to one client


def _client(ctx: Context) -> str:
    """Return the name that the client gives itself; during the handshake, from its parameters."""
    if ctx.session.client_params is not None:
        return ctx.session.client_params.client_info.name
    told = (ctx.params or {}).get("clientInfo")
    return str(told.get("name", "")) if isinstance(told, dict) else ""


def _named(ctx: Context) -> str | None:
    """Return the project that an HTTP request names: `/mcp?project=/path`."""
    query: Mapping[str, str] = getattr(ctx.request, "query_params", {})
    try:
        return named_project(query.get("project"))
    except WhetError as error:
        raise MCPError(types.INVALID_PARAMS, error.message, error.to_json()) from error


def _project(answer: Any) -> str | None:
    roots = answer.roots if isinstance(answer, types.ListRootsResult) else ()
    return project_of(str(root.uri) for root in roots)


def _complain(sentence: str) -> None:
    """Print one line to stderr, which clients log."""
    with suppress(OSError, ValueError):
        print(f"whet mcp: {sentence}", file=sys.stderr, flush=True)
