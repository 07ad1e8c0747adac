"""What becomes of somebody who changes the record: he is found out, and what he changed is named."""

import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from events.codec import DATA
from events.embedded import EmbeddedRedis
from events.log.port import RawEntry
from events.log.redis import RedisLog
from haes.simulation.run import simulate
from haes.state.batch import Batch
from replay.audit.anchors import FileAnchor
from replay.audit.seals import keep_beside, make_seals, seals_beside
from tests.builders import cluster
from tests.cli.running import haes
from tests.events.hands import RedisHands

# Events of one seal in these tests: so few that there are several.
SEAL_EVENTS = 40
Change = Callable[[list[RawEntry]], list[RawEntry]]


@pytest.fixture
async def log(server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RedisLog]:
    """Provides a log with a story on it, too short for more than one seal unless seals are short."""
    monkeypatch.setattr("replay.audit.seals.SEAL_EVENTS", SEAL_EVENTS)
    log = RedisLog(server.url, "test")
    await log.open()
    story = cluster({f"vm:{number}": {"node": 1} for number in range(1, 5)}, rounds=8)
    await simulate(story, log, lambda _event: None)
    yield log
    await log.close()


async def _rewrite(log: RedisLog, change: Change) -> None:
    """Replaces the stream by a changed one, ids and all; the head stays as it is unless events are gone at its end."""
    hands = RedisHands(log)
    entries = [(entry_id, list(flat)) for entry_id, flat in await hands.ask("XRANGE", hands.keys.events, "-", "+")]
    changed = change(entries)
    await hands.ask("DEL", hands.keys.events)
    for entry_id, flat in changed:
        await hands.ask("XADD", hands.keys.events, entry_id, *flat)
    last_id, last = changed[-1]
    await hands.ask("HSET", hands.keys.head, "n", last[1], "last_id", last_id)


def _options(server: EmbeddedRedis, tmp_path: Path, *more: str | Path) -> tuple[str | Path, ...]:
    return ("--log", server.url, "--cluster", "test", "--anchor", f"file:{tmp_path / 'seals'}", *more)


async def _seal_and_change(
    server: EmbeddedRedis, log: RedisLog, tmp_path: Path, change: Change, *more: str | Path
) -> list[str]:
    """Seals, changes the stream, checks, and returns the findings."""
    # Made here and not by the command, whose seals are longer than this story.
    key = Path(more[1]).read_bytes().strip() if more else None
    anchor = FileAnchor("anchor", tmp_path / "seals")
    seals = await make_seals(log, [], key)
    anchor.add(seals)
    await keep_beside(log, seals)
    assert (
        json.loads(haes("audit", "seal", "--check", "--json", *_options(server, tmp_path, *more))[0])["findings"] == []
    )
    await _rewrite(log, change)
    said, _ = haes("audit", "seal", "--check", "--json", *_options(server, tmp_path, *more), status=1)
    findings: list[str] = json.loads(said)["findings"]
    return findings


def _changed_byte(flat: list[bytes]) -> list[bytes]:
    data = bytearray(flat[DATA])
    data[-1] ^= 1
    return [*flat[:DATA], bytes(data), *flat[DATA + 1 :]]


async def test_a_removed_event_is_named(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """One entry deleted: its number and the seal that it was in are named."""
    findings = await _seal_and_change(server, log, tmp_path, lambda entries: entries[:49] + entries[50:])
    assert findings == ["event 50 was removed (seal 2)"]


async def test_a_changed_byte_is_named(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """One bit of one event's data changed: the event is named."""

    def change(entries: list[RawEntry]) -> list[RawEntry]:
        return [(entry_id, _changed_byte(flat)) if flat[1] == b"17" else (entry_id, flat) for entry_id, flat in entries]

    assert await _seal_and_change(server, log, tmp_path, change) == ["event 17 was changed (seal 1)"]


async def test_a_tail_that_was_cut_is_noticed(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """The log ends early: from where on is said."""
    n = (await log.head()).n
    [finding] = await _seal_and_change(server, log, tmp_path, lambda entries: entries[:60])
    assert finding == f"the log ends at event 60; sealed are events up to {n}: its tail was cut"


async def test_a_stream_that_was_rewritten_and_sealed_again_is_found_out(
    server: EmbeddedRedis, log: RedisLog, tmp_path: Path
) -> None:
    """Seals beside the log that agree with a rewritten stream do not agree with those outside."""
    options = _options(server, tmp_path)
    haes("audit", "seal", *options)

    def change(entries: list[RawEntry]) -> list[RawEntry]:
        return [(item, _changed_byte(flat)) if int(flat[1]) >= 30 else (item, flat) for item, flat in entries]

    await _rewrite(log, change)
    await RedisHands(log).ask("DEL", RedisHands(log).keys.side("seals"))
    haes("audit", "seal", *options[:4])
    assert haes("audit", "seal", "--check", *options[:4])[0].startswith("1 seals")
    findings = json.loads(haes("audit", "seal", "--check", "--json", *options, status=1)[0])["findings"]
    n = (await log.head()).n
    assert findings[0] == f"events 30 to {n} ({n - 29} of them) were changed (seal 1)"
    assert "was rewritten and sealed again" in findings[1]


async def test_what_is_put_in_is_named(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """An entry that is no event, in the middle of what was sealed, is named by its stream id."""

    def change(entries: list[RawEntry]) -> list[RawEntry]:
        times = [entry_id.partition(b"-")[0] for entry_id, _ in entries]
        gap = next(index for index in range(len(times) - 1) if times[index] != times[index + 1])
        milliseconds, _, number = entries[gap][0].partition(b"-")
        foreign = milliseconds + b"-" + str(int(number) + 1000).encode()
        return [*entries[: gap + 1], (foreign, [b"hello", b"world"]), *entries[gap + 1 :]]

    [finding] = await _seal_and_change(server, log, tmp_path, change)
    assert finding.endswith("is no event and was put in")


async def test_with_a_key_nobody_else_can_seal(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """Seals with HMAC hold with their key alone; a changed event is named with it as without."""
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text("0123456789abcdef0123456789abcdef")
    other.write_text("fedcba9876543210fedcba9876543210")
    findings = await _seal_and_change(
        server, log, tmp_path, lambda entries: entries[:9] + entries[10:], "--key-file", key
    )
    assert findings == ["event 10 was removed (seal 1)"]
    said = haes("audit", "seal", "--check", *_options(server, tmp_path, "--key-file", other), status=1)[0]
    assert "seal 2 (events 41 to 80) does not hold: the key is another one, or it was changed" in said


async def test_what_is_not_sealed_yet_is_said(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """Events behind the last seal are counted and nothing is claimed about them; sealing again covers them."""
    options = _options(server, tmp_path)
    haes("audit", "seal", *options)
    before = (await log.head()).n
    token = await log.acquire("test", "tester")
    batch = Batch(None, "tester", 1)
    batch.emit("node.added", "node9")
    await log.append(batch.events, token=token)
    said = haes("audit", "seal", "--check", *options)[0]
    assert f"events {before + 1} to {before + 1} (1) are not sealed" in said
    haes("audit", "seal", *options)
    assert json.loads(haes("audit", "seal", "--check", "--json", *options)[0]) == {
        "findings": [],
        "sealed": before + 1,
        "unsealed": 0,
        "seals": 2,
    }
    assert len(await seals_beside(log)) == 2


async def test_a_repository_keeps_seals(server: EmbeddedRedis, log: RedisLog, tmp_path: Path) -> None:
    """With git: each sealing is a commit, and what is committed counts, not what lies about."""
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    for name, value in (("user.name", "auditor"), ("user.email", "auditor@example.org")):
        subprocess.run(["git", "-C", repository, "config", name, value], check=True)
    options = ("--log", server.url, "--cluster", "test", "--anchor", f"git:{repository}")
    haes("audit", "seal", *options)
    (repository / "haes-seals.jsonl").write_text("")
    assert "0 findings" in haes("audit", "seal", "--check", *options)[0]
    subjects = subprocess.run(
        ["git", "-C", repository, "log", "--format=%s"], check=True, capture_output=True, text=True
    ).stdout
    assert subjects == f"Seal test up to event {(await log.head()).n}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--anchor", "fax:123"), "'fax:123' is no anchor; allowed are file:PATH"),
        (("--check", "--anchor", "file:{tmp}/none"), "there is no seal of cluster 'test'"),
        (("--check", "--anchor", "webhook:https://example.org"), "cannot be read back"),
        (("--key-file", "{tmp}/missing"), "cannot be read (No such file or directory)"),
        (("--anchor", "git:{tmp}"), "git add failed"),
    ],
)
async def test_mistakes_end_in_one_line(
    server: EmbeddedRedis, log: RedisLog, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """What a user can mend is said in one line with status 2."""
    given = [word.format(tmp=tmp_path) for word in words]
    _, error = haes("audit", "seal", *given, "--log", server.url, "--cluster", "test", status=2)
    assert message in error
    assert len(error.splitlines()) == 1
