"""What every log promises, as tests; a log's own test module subclasses it and provides the fixture `hands`."""

import asyncio

import pytest

from events.envelope import Event
from events.errors import (
    EntryCorrupt,
    EventUnknown,
    Fenced,
    LeaseHeld,
    LogForked,
    LogMissing,
    LogTruncated,
    StaleDecision,
)
from events.log.port import Batch, Checkpoint, EventLog, Token
from tests.events.hands import Hands
from tests.events.kinds import happened, many

# Seconds that bound every wait for something that comes at once.
SOON = 5.0


async def _filled(hands: Hands, count: int) -> tuple[EventLog, Token]:
    """Appends some events in batches of one and returns the log with a token for more."""
    token = await hands.log.acquire("leader", "node1")
    for number in range(count):
        await hands.log.append([happened(value=number)], token=token)
    return hands.log, token


class AppendContract:
    """Appending: order, versions, repeats."""

    async def test_numbers_are_contiguous_from_one(self, hands: Hands) -> None:
        """Events are numbered 1, 2, 3 over all batches, and ids grow with the numbers."""
        log, token = await _filled(hands, 3)
        appended = await log.append(many(5), token=token)
        events = await log.read()
        assert [event.n for event in events] == list(range(1, 9))
        assert appended.first_n == 4
        assert appended.ids == tuple(event.id for event in events[3:])
        assert len({event.id for event in events}) == 8
        assert [event.id for event in events] == sorted((event.id for event in events), key=_parts)

    async def test_an_event_comes_back_as_it_was_given(self, hands: Hands) -> None:
        """Everything but n, id and epoch, which the log stamps, survives the log."""
        token = await hands.log.acquire("leader", "node1")
        given = Event(
            type="test.happened",
            subject="vm:101",
            by="node1/crm",
            at=1764572323.125,
            payload={"value": [1, -2.5, None, True, "ä", b"\x00\xff", {"deep": []}]},
            about="an umlaut: ü",
            cause="motion/4",
            correlation="command/17",
            late=True,
        )
        appended = await hands.log.append([given], token=token)
        given.n, given.id, given.epoch = 1, appended.ids[0], token.epoch
        assert await hands.log.read() == [given]

    async def test_a_stale_decision_is_refused_and_writes_nothing(self, hands: Hands) -> None:
        """A batch that was decided on an old version of any of its subjects is refused as a whole."""
        log, token = await _filled(hands, 2)
        batch = [happened("vm:102"), happened("vm:101")]
        with pytest.raises(StaleDecision, match=r"vm:101.* version 2.* 1"):
            await log.append(batch, token=token, expect={"vm:102": 0, "vm:101": 1})
        assert (await log.head()).n == 2
        assert await log.versions(["vm:101", "vm:102", "vm:103"]) == {"vm:101": 2, "vm:102": 0, "vm:103": 0}

    async def test_the_expected_versions_let_a_batch_pass(self, hands: Hands) -> None:
        """Each event raises the version of its subject by one; subjects that are not named are not checked."""
        log, token = await _filled(hands, 2)
        batch = [happened("vm:101"), happened("vm:102"), happened("vm:101"), happened("vm:103")]
        await log.append(batch, token=token, expect={"vm:101": 2, "vm:102": 0, "node1": 0})
        assert await log.versions(["vm:101", "vm:102", "vm:103", "node1"]) == {
            "vm:101": 4,
            "vm:102": 1,
            "vm:103": 1,
            "node1": 0,
        }

    async def test_a_repeated_command_is_appended_once(self, hands: Hands) -> None:
        """The second append with a command id returns what the first one did, even when its token is gone by then."""
        log, token = await _filled(hands, 1)
        first = await log.append(many(3), token=token, expect={"vm:0": 0}, command="round/7")
        await log.acquire("leader", "node2", seize=True)
        again = await log.append(many(3), token=token, expect={"vm:0": 0}, command="round/7")
        assert again.repeated
        assert not first.repeated
        assert (again.first_n, again.ids, again.server_time) == (first.first_n, first.ids, first.server_time)
        assert (await log.head()).n == 4

    async def test_a_refused_command_can_be_tried_again(self, hands: Hands) -> None:
        """A command id counts as done only when its batch was written."""
        log, token = await _filled(hands, 1)
        with pytest.raises(StaleDecision):
            await log.append([happened()], token=token, expect={"vm:101": 0}, command="round/8")
        appended = await log.append([happened()], token=token, expect={"vm:101": 1}, command="round/8")
        assert not appended.repeated

    async def test_a_batch_of_ten_thousand_is_appended(self, hands: Hands) -> None:
        """No limit of a script's stack stands in the way of a big batch with as many subjects."""
        token = await hands.log.acquire("leader", "node1")
        batch = many(10_000, subjects=10_000)
        expect = {event.subject: 0 for event in batch}
        appended = await hands.log.append(batch, token=token, expect=expect, command="big")
        assert len(appended.ids) == 10_000
        assert [event.payload["value"] async for event in hands.log.read_all()] == list(range(10_000))
        assert (await hands.log.versions(["vm:0", "vm:9999"])) == {"vm:0": 1, "vm:9999": 1}

    async def test_an_empty_batch_is_a_bug(self, hands: Hands) -> None:
        """A batch without events is refused as an error of the program."""
        token = await hands.log.acquire("leader", "node1")
        with pytest.raises(ValueError, match="at least one"):
            await hands.log.append([], token=token)

    async def test_many_batches_keep_their_order_and_their_own_fate(self, hands: Hands) -> None:
        """A refused batch among many leaves an error in its place, and those around it are appended in order."""
        log, token = await _filled(hands, 0)
        batches = [Batch([happened(value=number)], token, {"vm:101": number}) for number in range(250)]
        batches.insert(3, Batch([happened(value=-1)], token, {"vm:101": 0}))
        results = await log.append_many(batches)
        assert isinstance(results[3], StaleDecision)
        assert [event.payload["value"] async for event in log.read_all()] == list(range(250))

    async def test_an_append_to_a_log_that_is_gone_is_refused(self, hands: Hands) -> None:
        """Nobody starts a new log by appending to one that was lost."""
        log, token = await _filled(hands, 1)
        await hands.destroy()
        with pytest.raises(LogMissing):
            await log.append([happened()], token=token)
        with pytest.raises(LogMissing):
            await log.head()


class LeaseContract:
    """Leases, fencing and domain time."""

    async def test_a_held_lease_is_not_given_away(self, hands: Hands) -> None:
        """Only expiry, release or seizing ends a lease; the refusal names the holder."""
        await hands.log.acquire("leader", "node1", ttl=10)
        with pytest.raises(LeaseHeld, match="node1"):
            await hands.log.acquire("leader", "node2", ttl=10)
        with pytest.raises(LeaseHeld, match="node1"):
            await hands.log.acquire("leader", "node1", ttl=10)

    async def test_a_lease_without_a_term_never_runs_out(self, hands: Hands) -> None:
        """Without a term a lease is held until it is released or seized."""
        token = await hands.log.acquire("leader", "node1")
        await hands.advance(1e6)
        with pytest.raises(LeaseHeld):
            await hands.log.acquire("leader", "node2")
        await hands.log.append([happened()], token=token)
        assert (await hands.log.leases())["leader"].expires_in is None

    async def test_an_epoch_that_was_taken_over_is_fenced(self, hands: Hands) -> None:
        """A deposed holder can neither append nor renew, and its release does not hurt its successor."""
        old = await hands.log.acquire("leader", "node1", ttl=10)
        await hands.advance(10)
        new = await hands.log.acquire("leader", "node2", ttl=10)
        assert new.epoch == old.epoch + 1
        with pytest.raises(Fenced, match="node2"):
            await hands.log.append([happened()], token=old)
        with pytest.raises(Fenced):
            await hands.log.renew(old, ttl=10)
        await hands.log.release(old)
        await hands.log.append([happened()], token=new)
        assert [event.epoch for event in await hands.log.read()] == [new.epoch]

    async def test_the_nonce_fences_an_equal_epoch(self, hands: Hands) -> None:
        """Of two holders that a failover gave the same epoch, only the one that the log knows may append."""
        token = await hands.log.acquire("leader", "node1")
        twin = Token(token.generation, token.lease, token.epoch, "another")
        with pytest.raises(Fenced):
            await hands.log.append([happened()], token=twin)

    async def test_an_expired_lease_is_fenced_although_nobody_took_it(self, hands: Hands) -> None:
        """Time alone ends the right to append and to renew."""
        token = await hands.log.acquire("leader", "node1", ttl=100)
        await hands.advance(90)
        await hands.log.append([happened()], token=token)
        await hands.advance(10)
        with pytest.raises(Fenced, match="run out"):
            await hands.log.append([happened()], token=token)
        with pytest.raises(Fenced, match="run out"):
            await hands.log.renew(token, ttl=100)

    async def test_renewing_starts_a_new_term_and_keeps_notes(self, hands: Hands) -> None:
        """A renewed lease outlives its first term; its note stays until another one takes its place."""
        token = await hands.log.acquire("leader", "node1", ttl=100)
        await hands.log.renew(token, ttl=100, note={"round_at": "20", "state": "active"})
        await hands.advance(90)
        await hands.log.renew(token, ttl=100)
        await hands.advance(90)
        lease = (await hands.log.leases())["leader"]
        assert (lease.owner, lease.epoch, lease.note) == ("node1", 1, {"round_at": "20", "state": "active"})
        assert lease.expires_in == pytest.approx(10, abs=5)
        await hands.log.renew(token, ttl=None, note={"round_at": "30"})
        lease = (await hands.log.leases())["leader"]
        assert (lease.expires_in, lease.note) == (None, {"round_at": "30"})

    async def test_epochs_never_fall(self, hands: Hands) -> None:
        """Release, expiry and seizing all lead to a higher epoch, for each lease apart."""
        log = hands.log
        epochs = []
        token = await log.acquire("leader", "node1", ttl=10)
        epochs.append(token.epoch)
        await log.release(token)
        assert await log.leases() == {}
        token = await log.acquire("leader", "node2", ttl=10)
        epochs.append(token.epoch)
        await hands.advance(11)
        epochs.append((await log.acquire("leader", "node3", ttl=10)).epoch)
        epochs.append((await log.acquire("leader", "node4", seize=True)).epoch)
        assert epochs == [1, 2, 3, 4]
        assert (await log.acquire("agent/node1", "node1")).epoch == 1

    async def test_a_right_that_is_remembered_is_not_given_again(self, hands: Hands) -> None:
        """On a log that forgot a right its bearer gets a newer one; an older generation rises above the remembered."""
        log = hands.log
        assert (await log.acquire("leader", "node1", above=(1, 7))).right == (1, 8)
        assert (await log.acquire("leader", "node1", seize=True, above=(1, 7))).right == (1, 9)
        assert (await log.acquire("leader", "node1", seize=True, above=(0, 99))).right == (1, 10)
        with pytest.raises(LeaseHeld):
            await log.acquire("leader", "node2", above=(5, 1))
        assert (await log.head()).generation == 1
        old = await log.acquire("agent/node1", "node1")
        token = await log.acquire("leader", "node1", seize=True, above=(3, 99))
        assert token.generation == (await log.head()).generation == 4
        with pytest.raises(Fenced, match="generation 4"):
            await log.append([happened()], token=old)
        await log.append([happened()], token=token)

    async def test_a_released_lease_is_free_at_once(self, hands: Hands) -> None:
        """Resigning fences the resigned holder and lets the next one in, without waiting for the term."""
        token = await hands.log.acquire("leader", "node1", ttl=1000)
        await hands.log.release(token)
        await hands.log.release(token)
        with pytest.raises(Fenced):
            await hands.log.append([happened()], token=token)
        await hands.log.acquire("leader", "node2", ttl=10)

    async def test_a_lease_that_ran_out_can_still_be_read(self, hands: Hands) -> None:
        """Who held a lease last and what they noted stays visible, with how long it has been over."""
        token = await hands.log.acquire("leader", "node1", ttl=10)
        await hands.log.renew(token, ttl=10, note={"round_at": "20"})
        await hands.advance(100)
        lease = (await hands.log.leases())["leader"]
        assert lease.note == {"round_at": "20"}
        assert lease.expires_in == pytest.approx(-90, abs=5)

    async def test_a_new_generation_fences_all_tokens(self, hands: Hands) -> None:
        """After the generation rose, no token of an earlier one is good, and it rises above what was remembered."""
        token = await hands.log.acquire("leader", "node1")
        assert await hands.log.raise_generation(4) == 5
        assert await hands.log.raise_generation(1) == 6
        with pytest.raises(Fenced, match="generation 6"):
            await hands.log.append([happened()], token=token)
        token = await hands.log.acquire("leader", "node1", seize=True)
        assert (token.generation, token.epoch) == (6, 2)
        await hands.log.append([happened()], token=token)

    async def test_domain_time_never_goes_back(self, hands: Hands) -> None:
        """A clock that is set back does not set domain time back."""
        log, token = await _filled(hands, 1)
        before = await log.now()
        await hands.set_back(3600)
        assert await log.now() >= before
        appended = await log.append([happened()], token=token)
        assert appended.server_time >= before
        assert _parts(appended.ids[0]) > _parts((await log.read())[0].id)
        assert await log.now() >= appended.server_time


class ReadContract:
    """Reading, following, and the faults of a log that is not the one the reader knew."""

    async def test_reading_goes_on_after_any_number(self, hands: Hands) -> None:
        """From every number, in any order, exactly the events after it are read; none beyond the end."""
        log, _ = await _filled(hands, 12)
        for after in (0, 7, 3, 11, 4, 12, 15, 1):
            assert [event.n for event in await log.read(after)] == list(range(after + 1, 13))
        assert [event.n for event in await log.read(3, count=2)] == [4, 5]

    async def test_raw_chunks_hold_what_read_decodes(self, hands: Hands) -> None:
        """The undecoded entries are the same, from any start, however the chunks are cut, and readable by name."""
        log, token = await _filled(hands, 3)
        await log.append(many(20), token=token)
        for after, count in ((0, 1000), (0, 7), (2, 7), (9, 7), (23, 7), (30, 7)):
            raw = [entry async for chunk in log.raw_chunks(after, count=count) for entry in chunk]
            events = await log.read(after)
            assert [entry_id.decode() for entry_id, _ in raw] == [event.id for event in events]
            assert [int(flat[1]) for _, flat in raw] == [event.n for event in events]
            assert all(flat[::2] == [*b"n type subject by at epoch about data".split()] for _, flat in raw)

    async def test_an_abandoned_replay_leaves_nothing_behind(self, hands: Hands) -> None:
        """Who stops in the middle of the chunks can use the log as before."""
        log, token = await _filled(hands, 1)
        await log.append(many(20), token=token)
        chunks = log.raw_chunks(count=5)
        await anext(chunks)
        await chunks.aclose()  # type: ignore[attr-defined]
        assert (await log.head()).n == 21
        assert len(await log.read()) == 21

    async def test_a_follower_gets_each_event_once(self, hands: Hands) -> None:
        """Waiting returns at once what came after the checkpoint, also what comes during the wait."""
        log, token = await _filled(hands, 2)
        checkpoint = await log.attach(None)
        assert checkpoint == Checkpoint((await log.head()).log_id, "0-0", 0)
        events = await log.wait(checkpoint, SOON)
        assert [event.n for event in events] == [1, 2]
        checkpoint = checkpoint.after(events[-1])
        assert await log.attach(checkpoint) == checkpoint
        assert await log.wait(checkpoint, 0) == []
        assert await log.wait(checkpoint, 0.01) == []
        waiting = asyncio.create_task(log.wait(checkpoint, SOON))
        await asyncio.sleep(0)
        await log.append([happened()], token=token)
        assert [event.n for event in await asyncio.wait_for(waiting, SOON)] == [3]

    async def test_a_cancelled_wait_leaves_the_log_usable(self, hands: Hands) -> None:
        """After a wait was cancelled, the next one gets its own answer."""
        log, token = await _filled(hands, 1)
        checkpoint = (await log.attach(None)).after((await log.read())[-1])
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(log.wait(checkpoint, SOON), 0.05)
        await log.append([happened()], token=token)
        assert [event.n for event in await log.wait(checkpoint, SOON)] == [2]

    async def test_a_lost_tail_is_a_fork(self, hands: Hands) -> None:
        """A reader ahead of the log is told so, by attach and by wait, never answered with nothing."""
        log, _ = await _filled(hands, 5)
        checkpoint = (await log.attach(None)).after((await log.read())[-1])
        await hands.lose_tail(3)
        with pytest.raises(LogForked):
            await log.attach(checkpoint)
        with pytest.raises(LogForked):
            await log.wait(checkpoint, 0)

    async def test_a_rewritten_tail_is_a_fork(self, hands: Hands) -> None:
        """A tail that was lost and written again, to the same length or beyond, is noticed by the entry itself."""
        log, token = await _filled(hands, 5)
        checkpoint = (await log.attach(None)).after((await log.read())[-1])
        await hands.lose_tail(3)
        await hands.advance(1)
        for _ in range(2):
            await log.append([happened()], token=token)
        with pytest.raises(LogForked):
            await log.attach(checkpoint)
        await log.append([happened()], token=token)
        with pytest.raises(LogForked):
            await log.attach(checkpoint)

    async def test_a_follower_notices_a_rewritten_tail(self, hands: Hands) -> None:
        """A follower is told so, too, also when the new tail is longer and its clock was behind."""
        log, token = await _filled(hands, 3)
        await hands.advance(1)
        await log.append(many(2), token=token)
        checkpoint = (await log.attach(None)).after((await log.read())[-1])
        entries = [entry async for chunk in log.raw_chunks() for entry in chunk]
        await hands.lose_tail(3)
        early = entries[2][0].partition(b"-")[0].decode()
        for n in (4, 5):
            await hands.write(f"{early}-{n}", entries[n - 1][1])
        await hands.advance(2)
        await log.append([happened()], token=token)
        with pytest.raises(LogForked):
            await log.wait(checkpoint, 0)

    async def test_another_log_is_a_fork(self, hands: Hands) -> None:
        """A checkpoint of another log is refused, even one at the start."""
        log, _ = await _filled(hands, 1)
        for checkpoint in (Checkpoint("another", "0-0", 0), Checkpoint("another", (await log.read())[0].id, 1)):
            with pytest.raises(LogForked, match="another"):
                await log.attach(checkpoint)
            with pytest.raises(LogForked, match="another"):
                await log.wait(checkpoint, 0)

    async def test_trimmed_events_are_missed_only_by_those_who_have_not_read_them(self, hands: Hands) -> None:
        """A reader below the cut is told so by attach, read and wait; one at the cut or above goes on."""
        log, _ = await _filled(hands, 6)
        start = await log.attach(None)
        below, at, above = (start.after(event) for event in (await log.read())[2:5])
        await hands.trim(4)
        for checkpoint in (start, below):
            with pytest.raises(LogTruncated):
                await log.attach(checkpoint)
            with pytest.raises(LogTruncated):
                await log.wait(checkpoint, 0)
            with pytest.raises(LogTruncated):
                await log.read(checkpoint.n)
        with pytest.raises(LogTruncated):
            await log.attach(None)
        for checkpoint in (at, above):
            assert await log.attach(checkpoint) == checkpoint
            assert [event.n for event in await log.wait(checkpoint, 0)] == list(range(checkpoint.n + 1, 7))
            assert [event.n for event in await log.read(checkpoint.n)] == list(range(checkpoint.n + 1, 7))

    async def test_a_log_that_is_gone_is_missing(self, hands: Hands) -> None:
        """Nobody takes a log that is gone for an empty one."""
        log, _ = await _filled(hands, 1)
        checkpoint = await log.attach(None)
        await hands.destroy()
        with pytest.raises(LogMissing):
            await log.attach(checkpoint)
        with pytest.raises(LogMissing):
            await log.wait(checkpoint, 0)
        with pytest.raises(LogMissing):
            await log.read()

    async def test_an_entry_that_is_not_ours_is_corrupt(self, hands: Hands) -> None:
        """A foreign entry is named where it stands, after the good ones before it were read."""
        log, _ = await _filled(hands, 2)
        await hands.write(f"{_parts((await log.head()).last_id)[0] + 1}-0", [b"key", b"value"])
        assert [event.n for event in await log.read()] == [1, 2]
        with pytest.raises(EntryCorrupt, match="event 3") as caught:
            await log.read(2)
        assert (caught.value.n, caught.value.subject) == (3, "")

    async def test_an_entry_that_is_damaged_is_corrupt(self, hands: Hands) -> None:
        """Data that cannot be decoded is named by event number."""
        log, _ = await _filled(hands, 1)
        [(entry_id, flat)] = [entry async for chunk in log.raw_chunks() for entry in chunk]
        await hands.write(_next(entry_id), [b"n", b"2", *flat[2:-1], b"\xc1 no msgpack"])
        with pytest.raises(EntryCorrupt, match="event 2"):
            await log.read(1)

    async def test_a_type_of_a_newer_program_is_unknown(self, hands: Hands) -> None:
        """An event type that this program does not know is a fault with the type's name."""
        log, _ = await _filled(hands, 1)
        [(entry_id, flat)] = [entry async for chunk in log.raw_chunks() for entry in chunk]
        await hands.write(_next(entry_id), [b"n", b"2", b"type", b"test.future", *flat[4:]])
        with pytest.raises(EventUnknown, match=r"event 2 .*test\.future") as caught:
            await log.read(1)
        assert (caught.value.n, caught.value.subject) == (2, "vm:101")

    async def test_a_reader_may_go_on_behind_a_bad_entry(self, hands: Hands) -> None:
        """Who has parked what an unreadable event is about reads on with the next number."""
        log, token = await _filled(hands, 1)
        [(entry_id, flat)] = [entry async for chunk in log.raw_chunks() for entry in chunk]
        await hands.write(_next(entry_id), [b"n", b"2", b"type", b"test.future", *flat[4:]])
        await hands.advance(1)
        await log.append([happened(value=3)], token=token)
        assert [event.n for event in await log.read()] == [1]
        assert [event.n for event in await log.read(2)] == [3]

    async def test_a_number_that_does_not_follow_is_a_fault(self, hands: Hands) -> None:
        """A hole in the numbers and a number that comes twice are both noticed."""
        log, _ = await _filled(hands, 1)
        [(entry_id, flat)] = [entry async for chunk in log.raw_chunks() for entry in chunk]
        await hands.write(_next(entry_id), flat)
        with pytest.raises(LogForked):
            await log.read(1)


def _parts(entry_id: str) -> tuple[int, int]:
    """Returns the two numbers of a stream id."""
    milliseconds, _, sequence = entry_id.partition("-")
    return int(milliseconds), int(sequence)


def _next(entry_id: bytes) -> str:
    """Returns a stream id right after another one."""
    milliseconds, sequence = _parts(entry_id.decode())
    return f"{milliseconds}-{sequence + 1}"


class SnapshotContract:
    """Snapshots, kept by number beside the events, and trimming."""

    async def test_trimming_keeps_numbers_and_the_end(self, hands: Hands) -> None:
        """Trimmed events are gone, the others keep their numbers, and the last one is never trimmed."""
        log, token = await _filled(hands, 6)
        assert await log.trim(2) == 2
        assert [event.n for event in await log.read(2)] == [3, 4, 5, 6]
        assert await log.trim(99) == 3
        assert [event.n for event in await log.read(5)] == [6]
        assert (await log.append(many(1), token=token)).first_n == 7

    async def test_snapshots_are_kept_by_number(self, hands: Hands) -> None:
        """What is put under a number comes back from there until it is dropped."""
        log, _ = await _filled(hands, 2)
        await log.put_snapshot(2, b"\x00two")
        await log.put_snapshot(1, b"one")
        assert await log.snapshot_numbers() == [1, 2]
        assert await log.get_snapshot(2) == b"\x00two"
        await log.drop_snapshot(2)
        assert await log.get_snapshot(2) is None
        assert await log.snapshot_numbers() == [1]


class LogContract(AppendContract, LeaseContract, ReadContract, SnapshotContract):
    """Everything that a log promises."""
