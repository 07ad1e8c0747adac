"""`haes acl`: the rights that each kind of user needs on the server, as rules for its ACL."""

import argparse
import getpass

from events.errors import UserError
from events.log.durability import LOCAL, read_durability
from events.log.rights import ROLES, rules_for
from haes.cli.options import DEFAULT_CLUSTER
from haes.cli.terminal import say


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("acl")
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("--cluster", default=DEFAULT_CLUSTER, metavar="NAME")
    parser.add_argument("--user", metavar="NAME", help="the user's name on the server (default: the role, or you)")
    parser.add_argument(
        "--durability", default=LOCAL, metavar="KIND", help="as in the cluster's file: local, replicas:N or fsync"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    user = options.user or (getpass.getuser() if options.role == "operator" else options.role)
    if not user.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UserError(f"--user {user}: a user's name has letters, digits, '.', '_' and '-'")
    rules = rules_for(options.role, options.cluster, user, read_durability(options.durability))
    say(f"ACL SETUSER {user} reset on >PASSWORD {' '.join(rules)}")
    return 0
