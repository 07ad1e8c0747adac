"""`haes web`: the page on a cluster, for a browser on this machine unless told otherwise."""

import argparse
import asyncio
import ipaddress
import logging
import signal
import socket
from contextlib import nullcontext
from pathlib import Path

from events.errors import UserError
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log
from haes.live.process import configure_logs

DEFAULT_ADDRESS = "127.0.0.1:8420"
# Seconds for open pages to be let go when the server ends; they follow for as long as they are open.
LEAVE_LIMIT = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("web")
    parser.add_argument("--listen", metavar="HOST:PORT", default=DEFAULT_ADDRESS, help="default: %(default)s")
    parser.add_argument(
        "--host-name", action="append", default=[], metavar="NAME", help="another name that the page is reached by"
    )
    parser.add_argument("--tokens", type=Path, metavar="FILE", help='who may act: lines USER = "TOKEN", mode 600')
    add_archive_option(parser)
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    configure_logs("text", verbose=False)
    asyncio.run(_serve(options, *_address(options.listen)))
    return 0


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) >= 2**16:
        raise UserError(f"--listen {text}: expected HOST:PORT such as {DEFAULT_ADDRESS}")
    return host.strip("[]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _serve(options: argparse.Namespace, host: str, port: int) -> None:
    # Only this command needs a web server.
    import uvicorn

    from haes.web.access import Tokens, read_tokens
    from haes.web.app import make_app
    from haes.web.follower import Follower
    from haes.web.past import Past

    tokens = Tokens({}) if options.tokens is None else read_tokens(options.tokens)
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        follower = Follower(log)
        await follower.open()
        past = Past(options.log, options.cluster, options.archive)
        hosts = ["localhost", "127.0.0.1", "[::1]", host, *options.host_name]
        app = make_app(follower, past, tokens, hosts)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=LEAVE_LIMIT)
        try:
            listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            raise UserError(f"--listen {options.listen}: cannot be listened on ({error.strerror})") from error
        with listening:
            name = f"[{host}]" if ":" in host else host
            if not _is_loopback(host):
                logging.getLogger(__name__).warning("whoever reaches %s can read everything about the cluster", name)
            print(f"http://{name}:{listening.getsockname()[1]}/", flush=True)  # noqa: T201 - the answer
            server = uvicorn.Server(config)

            def leave() -> None:
                server.should_exit = True

            # The server's own handlers let the signal end the process once more when everything is done.
            server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, leave)
            await server.serve(sockets=[listening])
