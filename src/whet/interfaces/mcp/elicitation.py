"""The rounds of a distillation as forms that the client shows to its user, if it can (elicitation).

A client with a handshake is asked on its own channel while its call waits. A client without gets each form instead of
an answer, and repeats the call with the user's input and the id of the distillation. That id is the whole state, and it
is not a secret: a client may name it in any call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from whet.api.tool_definitions import DISTILL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from whet.values import Json

    Call: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Json]]
    """Returns the tool's answer to these arguments."""

FORM = "form"
_MOST = 10
"""Number of forms of one call, as with clients without a handshake."""
_CLOSED = "The user closed the form. Ask what to do; this distillation is kept."


def is_wanted(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> bool:
    """Return whether this call asks for forms and the client supports them."""
    if params.name != DISTILL or (params.arguments or {}).get("ask") not in (True, "true"):
        return False
    capabilities = ctx.session.client_capabilities
    can = capabilities.elicitation if capabilities else None
    return can is not None and (can.form is not None or can.url is None)  # at first there were only forms


async def ask(
    ctx: ServerRequestContext[Any, Any],
    params: types.CallToolRequestParams,
    call: Call,
    beside: Mapping[str, types.InputRequest],
) -> Json | types.InputRequiredResult:
    """Return the tool's answer when all forms are filled in or one is closed; or the form to fill in now.

    `beside` is the other information that a client without a handshake must send with its next call.
    """
    given = {key: value for key, value in (params.arguments or {}).items() if key not in ("ask", "finish")}
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    state = params.request_state if modern else None
    answer = await (call(given) if state is None else _submit(call, state, (params.input_responses or {}).get(FORM)))
    for _ in range(_MOST):
        if answer.get("done") is not False or answer.get("closed"):
            break
        if modern:
            asked = {**beside, FORM: form(answer)}
            return types.InputRequiredResult(input_requests=asked, request_state=answer["distillation"])
        result = await _show(ctx, form(answer))
        answer = await _submit(call, answer["distillation"], result)
    if answer.get("done") and (params.arguments or {}).get("finish"):
        return await call({"distillation": answer["distillation"], "finish": True})
    return answer


def form(answer: Mapping[str, Any]) -> types.ElicitRequest:
    """Return the form for the question in an answer of the tool: one entry for each field, with the proposed value."""
    question = answer["question"]
    problem = f"{answer['problem']}\n\n" if "problem" in answer else ""
    message = f"{problem}{question['title']} ({answer['round']}/{answer['of']})\n\n{question['text']}"
    entries = {field["name"]: _entry(field) for field in question["fields"]}
    schema = {"type": "object", "properties": entries}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _entry(field: Mapping[str, Any]) -> Json:
    told = {"title": field["label"], "default": field["value"]}
    if field["kind"] == "yes-no":
        return {"type": "boolean", **told}
    if field["kind"] == "lines":
        told |= {
            "description": "One per line; keep the number of each existing line.",
            "default": "\n".join(field["value"]),
        }
    elif field["kind"] == "list":
        more = [one for one in field["options"] if one not in field["value"]]
        others = f" Not included: {', '.join(more)}." if more else ""
        told |= {"description": f"Separate them with commas.{others}", "default": ", ".join(field["value"])}
    return {"type": "string", **told}


async def _show(ctx: ServerRequestContext[Any, Any], request: types.ElicitRequest) -> Any:
    """Return the client's answer on its own channel; None if it fails."""
    assert isinstance(request.params, types.ElicitRequestFormParams)  # noqa: S101  `form` makes no other
    try:
        return await ctx.session.elicit_form(request.params.message, request.params.requested_schema, ctx.request_id)
    except MCPError:
        return None


async def _submit(call: Call, distillation: str, result: Any) -> Json:
    """Return the tool's answer to a form: the next question, the same one with the problem, or that it was closed."""
    current = {"distillation": distillation}
    if not isinstance(result, types.ElicitResult) or result.action != "accept":
        answer = await call(current)
        return {**answer, "closed": True, "hint": _CLOSED} if answer["success"] else answer
    said = {name: value for name, value in (result.content or {}).items() if value is not None}
    answer = await call({**current, "answers": said})
    if answer.get("code") != "bad-answer":
        return answer
    return {**await call(current), "problem": f"{answer['error']} {answer['hint']}"}
