"""The addresses of the page: what is asked for over HTTP, and who answers. Knows nothing of how answers come about."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from events.errors import HaesError, LogUnavailable, UserError
from haes.live.requests import EXPIRES, send_request
from haes.web.access import HEADERS, Tokens
from haes.web.follower import Behind, Follower
from haes.web.metrics import registry_of
from haes.web.past import Past
from haes.web.picture import changes_of, loads_of, picture

STATIC = Path(__file__).parent / "static"
# Seconds after which a page that follows is told that it still does, and how loads are: proxies close what is silent.
HEARTBEAT = 2.0
# Seconds that news are collected, so that a burst of events is one update of every page.
COLLECT_INTERVAL = 0.1
# Milliseconds after which a browser connects again.
RECONNECT = 1000
# Bytes of a command at most.
LONGEST_BODY = 64 * 1024
# What may be asked for from the page; everything else is for the command line.
VERBS = frozenset({"migrate", "relocate", "enable-node-maintenance", "disable-node-maintenance", "rebalance-retry"})

Answer = Callable[[Request], Awaitable[Response]]


def make_app(follower: Follower, past: Past, tokens: Tokens, hosts: list[str]) -> Starlette:
    """Returns the application.

    Args:
        follower: the cluster as it is, open.
        past: the cluster as it was.
        tokens: of those who may act; none makes the page read-only.
        hosts: names under which the page may be asked for, so that no other name can be made to lead here.
    """
    site = _Site(follower, past, tokens)
    routes = [
        Route("/", site.page),
        Route("/api/now", site.now),
        Route("/api/at", _answered(site.at)),
        Route("/api/span", _answered(site.span)),
        Route("/api/journal", _answered(site.journal)),
        Route("/api/compare", _answered(site.compare)),
        Route("/api/explain", _answered(site.explain)),
        Route("/api/stream", site.stream),
        Route("/api/commands", _answered(site.command), methods=["POST"]),
        Route("/metrics", site.metrics),
        Route("/healthz", site.healthy),
        Route("/readyz", site.ready),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts), Middleware(_Headers)]

    @asynccontextmanager
    async def following(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(follower.run(), name="web follower")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return Starlette(routes=routes, middleware=middleware, lifespan=following)


class _Headers:
    """Sends with every answer what a browser must know."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["cache-control"] = "no-cache" if scope["path"].startswith("/static/") else "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _answered(ask: Answer) -> Answer:
    """Turns what somebody can mend into status 400, and a log that is away into 503, each with one line of text."""

    async def answer(request: Request) -> Response:
        try:
            return await ask(request)
        except LogUnavailable as error:
            return JSONResponse({"error": f"the log is away: {error}"}, 503)
        except HaesError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(2**63)):
        raise UserError(f"{name}={text[:80]}: expected the number of an event")
    return int(text)


class _Site:
    def __init__(self, follower: Follower, past: Past, tokens: Tokens) -> None:
        self._follower, self._past, self._tokens = follower, past, tokens
        self._registry = registry_of(follower)

    async def page(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def now(self, _: Request) -> Response:
        return JSONResponse({**picture(self._follower.replica.state), **self._live()})

    def _live(self) -> dict[str, Any]:
        """Returns what only the present has: loads, leader's lease, trouble, whether it is the present at all."""
        follower = self._follower
        return {
            "loads": loads_of(follower.loads),
            "trouble": follower.trouble,
            "leads": follower.leads,
            "stale": follower.why_not_ready,
            "acts": bool(self._tokens),
        }

    async def at(self, request: Request) -> Response:
        return JSONResponse(await self._past.at(request.query_params.get("point", "")))

    async def span(self, _: Request) -> Response:
        return JSONResponse(await self._past.span())

    async def compare(self, request: Request) -> Response:
        before, after = request.query_params.get("before", ""), request.query_params.get("after", "")
        return JSONResponse({"lines": await self._past.compare(before, after)})

    async def explain(self, request: Request) -> Response:
        motion = _number(request, "motion")
        if motion is not None:
            return JSONResponse({"text": await self._past.motion(motion)})
        name = request.query_params.get("service", "")
        return JSONResponse({"text": await self._past.explain(name, _number(request, "n"))})

    async def journal(self, request: Request) -> Response:
        ask = request.query_params
        limit = _number(request, "limit") or 100
        return JSONResponse(
            await self._past.journal(_number(request, "before"), ask.get("search", ""), ask.get("type", ""), limit)
        )

    async def stream(self, request: Request) -> Response:
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = int(last) if last.isascii() and last.isdecimal() and len(last) < len(str(2**63)) else 0
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._updates(after), media_type="text/event-stream", headers=headers)

    async def _updates(self, after: int) -> AsyncIterator[str]:
        """Yields updates for one page, from an event on; `reload` when it is too far behind to be told step by step."""
        yield f"retry: {RECONNECT}\n\n"
        while True:
            try:
                events = await self._follower.news(after, HEARTBEAT)
                if events:
                    await asyncio.sleep(COLLECT_INTERVAL)
                    events = await self._follower.news(after, 0)
            except Behind:
                yield "event: reload\ndata: {}\n\n"
                return
            update = {**changes_of(self._follower.replica.state, events), **self._live()} if events else self._live()
            after = events[-1].n if events else after
            yield f"id: {after}\nevent: update\ndata: {json.dumps(update)}\n\n"

    async def command(self, request: Request) -> Response:
        user = self._tokens.user_of(request.headers.get("authorization", ""))
        if user is None:
            why = "this token is nobody's" if self._tokens else "this page is read-only (haes web --tokens FILE)"
            return JSONResponse({"error": why}, 403)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "expected application/json"}, 415)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return JSONResponse({"error": f"allowed are {LONGEST_BODY} bytes"}, 413)
        verb, arguments = _wanted(body)
        log = self._follower.log
        entry = await send_request(log.side, user, verb, arguments, expires=await log.now() + EXPIRES)
        return JSONResponse({"request": entry, "user": user}, 202)

    async def metrics(self, _: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

    async def healthy(self, _: Request) -> Response:
        return PlainTextResponse("the page is there\n")

    async def ready(self, _: Request) -> Response:
        why = self._follower.why_not_ready
        return PlainTextResponse(f"{why or 'ready'}\n", 503 if why else 200)


def _wanted(body: bytes) -> tuple[str, list[str]]:
    """Reads `{"verb": ..., "arguments": [...]}`.

    Raises:
        UserError: it is not that, or the verb is not for the page.
    """
    try:
        data = json.loads(body)
        verb, arguments = data["verb"], data["arguments"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError('expected {"verb": "migrate", "arguments": ["vm:1", "node2"]}') from error
    if verb not in VERBS:
        raise UserError(f"verb '{str(verb)[:80]}' is not for the page; allowed are {', '.join(sorted(VERBS))}")
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise UserError("'arguments' must be a list of texts")
    return verb, arguments
