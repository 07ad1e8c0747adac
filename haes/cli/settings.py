"""`haes settings`: what is set in a running cluster, and changing it."""

import argparse
import asyncio
import json

from events.url import connect
from haes.cli.operate import add_request_options, submit
from haes.cli.options import require_log
from haes.cli.terminal import say
from haes.settings import SECTIONS, Settings, override
from haes.state.restore import restore_state


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("settings")
    parser.add_argument("action", choices=("show", "set", "unset"))
    parser.add_argument("values", nargs="*", metavar="KEY=VALUE", help="with set; KEY alone with unset")
    add_request_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.action == "show":
        require_log(options)
        settings = asyncio.run(_read(options.log, options.cluster))
        for section, keys in SECTIONS.items():
            for name, key in keys.items():
                value = settings.get(section, {}).get(name)
                shown = f"{key.default} (default)" if value is None else str(value)
                say(f"{section}.{name} = {shown}")
        return 0
    wanted: Settings = {}
    if options.action == "set":
        for assignment in options.values:
            override(wanted, assignment)
    else:
        for name in options.values:
            section, dot, key = name.partition(".")
            wanted.setdefault(section if dot else "crs", {})[key if dot else name] = None
    return submit(options, [("change-settings", [json.dumps(wanted)])])


async def _read(url: str, cluster: str) -> Settings:
    async with connect(url, cluster) as log:
        return (await restore_state(log)).settings
